import htm from 'htm';
import { h } from 'preact';

// htm would keep elements that are the same in each drawing. preact tells an element what it was drawn in, so that such a one kept
// all of the view in which it was drawn last, and what was in it, for as long as the page is open.
const kKeepNone = 3;
export const html = htm.bind(function (...element) {
  this[0] = kKeepNone;
  return h(...element);
});
