-- A schema of the future.
PRAGMA user_version = 99;
