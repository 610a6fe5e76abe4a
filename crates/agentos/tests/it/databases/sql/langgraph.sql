-- What a LangGraph checkpoint file looks like.
CREATE TABLE checkpoints (x);
CREATE TABLE writes (x);
