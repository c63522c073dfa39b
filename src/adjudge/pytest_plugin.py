"""The pytest plugin: judging inside tests. Loaded by pytest in every project that has Adjudge, so it imports nothing at its top."""
