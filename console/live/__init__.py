"""Live updates: sockets that are told which tasks moved, and nothing else.

The truth is the database.  A socket says how far it is; a hint, a catch-up and a look every few
seconds all answer the same: which of your tasks are further.  What changed is fetched by HTTP.
"""
