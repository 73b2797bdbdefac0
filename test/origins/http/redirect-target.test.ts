import { expect, test } from 'vitest';
import { redirectTarget } from '../../../src/origins/http/redirect-target.ts';

test.each([
  ['https://box.example/a/b?c=d', '../e?f=g', 'https://box.example/e?f=g'],
  ['https://box.example/a', '//box.example:443/b', 'https://box.example/b'],
  ['http://box.example/a', 'https://box.example/b', 'https://box.example/b'],
  ['http://box.example:8080/a', 'https://box.example:8080/b', 'https://box.example:8080/b'],
  ['https://box.example/a', 'https://me:secret@box.example/b#c', 'https://box.example/b'],
])('from %s to %s leads to %s', (from, location, target) => {
  expect(redirectTarget(new URL(from), location).href).toBe(target);
});

test.each([
  ['another host', 'https://box.example/a', 'https://box.example.evil.example/?secret'],
  ['another port', 'https://box.example/a', 'https://box.example:8443/a'],
  ['a subdomain', 'https://box.example/a', 'https://www.box.example/a'],
  ['no TLS', 'https://box.example/a', 'http://box.example/a'],
  ['another port with TLS', 'http://box.example:8080/a', 'https://box.example/a'],
  ['a file', 'https://box.example/a', 'file:///etc/shadow'],
  ['no URL', 'https://box.example/a', 'https://'],
])('one to %s is refused, and its query is not shown', (_what, from, location) => {
  const follow = (): URL => redirectTarget(new URL(from), location);
  expect(follow).toThrow(/^the server redirects to .*/);
  expect(follow).not.toThrow(/secret/);
});
