// The terminal's address ends in #TOKEN: post it once, and take it out of the history.
"use strict";
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("token").value = token;
  document.getElementById("enter").requestSubmit();
}
