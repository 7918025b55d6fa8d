/* The catalog: tells what a search found. */
'use strict';
document.addEventListener('htmx:afterSettle', event => {
  if (event.detail.target.id === 'found') ferrule.say(ferrule.one('#catalog-sentence').textContent);
});
