"""Static copies of the viewer: `adjudge view RUN --export DIR` asks for its pages and writes them as
files."""
