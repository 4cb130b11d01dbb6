"""The page in the browser: static files, of which `static/vendor` holds libraries of others."""
