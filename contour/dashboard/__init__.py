"""The dashboard: the graph as web pages, from hosts to endpoints, with the statuses of all objects.

Read only, rendered on the server, without content of other hosts. `pages` lists the pages; `views`
reads what they show from the instance, `drawing` draws the graph of one host, `access` keeps other
web sites out, and `live` tells an open page that something has changed.
"""
