package echo

// FitWithin is Fit for a limit of the test's choice.
var FitWithin = fit
