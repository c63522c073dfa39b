"""Numbers as judges write them, in digits and in words of English, Korean and Chinese."""
