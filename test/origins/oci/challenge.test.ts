import { expect, test } from 'vitest';
import { parseChallenge } from '../../../src/origins/oci/challenge.ts';

test.each<[string, unknown]>([
  [
    'Bearer realm="https://a.example/token",service="a, b",scope="repository:x:pull,push"',
    ['bearer', { realm: 'https://a.example/token', service: 'a, b', scope: 'repository:x:pull,push' }],
  ],
  ['basic realm="x"', ['basic', { realm: 'x' }]],
  ['Basic realm="a \\"b\\"", BEARER Realm=plain', ['bearer', { realm: 'plain' }]],
  ['Basic', ['basic', {}]],
  ['Negotiate', undefined],
  ['', undefined],
  ['"', undefined],
  [`Bearer realm="${'x'.repeat(10_000)}"`, ['bearer', {}]],
])('%s', (header, expected) => {
  const challenge = parseChallenge(header);
  expect(challenge && [challenge.scheme, Object.fromEntries(challenge.parameters)]).toEqual(expected);
});
