import { expect, test } from 'vitest';
import { parseMediaType } from '../../../src/server/api/media-type.ts';

test.each([
  ['Application/JSON', 'application/json', undefined],
  ['form', 'form', undefined],
  ['text/plain; charset=utf-8 ; b="a\\"; c"', 'text/plain', undefined],
  ['text/plain;', 'text/plain', undefined],
  ['text/plain;a=""', 'text/plain', undefined],
  ['', '', 'mime: no media type'],
  [';a=b', '', 'mime: no media type'],
  ['text plain', '', 'mime: expected slash after first token'],
  ['text/', '', 'mime: expected token after slash'],
  ['text/plain/x', '', 'mime: unexpected content after media subtype'],
  ['text/plain; bad', 'text/plain', 'mime: invalid media parameter'],
  ['text/plain; a=', 'text/plain', 'mime: invalid media parameter'],
  ['text/plain; a="b', 'text/plain', 'mime: invalid media parameter'],
  ['text/plain; a=b;;c=d', 'text/plain', 'mime: invalid media parameter'],
  ['text/plain; a=b; A=c', '', 'mime: duplicate parameter name'],
])('the content type "%s" is read as Go reads it', (text, type, problem) => {
  expect(parseMediaType(text)).toEqual({ type, problem });
});
