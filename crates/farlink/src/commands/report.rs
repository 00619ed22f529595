//! `farlink report`: a run as a page that one can open, print and send.
