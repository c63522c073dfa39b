"""Charts as SVG: dots with intervals on one axis, bars, histograms, slopes and plots."""
