import { describe, expect, test } from 'vitest';
import {
  type MinisignPublicKey,
  parseMinisignPublicKey,
  type Verification,
  verifyMinisign,
} from '../../../src/origins/http/minisign.ts';
import { MinisignSigner } from '../../fakes/minisign-signer.ts';

// What minisign itself signed: the four letters "test", with the example key of its documentation.
const key = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3';
const legacy = `untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==
`;
const prehashed = `untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1556193335\tfile:test
y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
`;

function keyOf(text: string): MinisignPublicKey {
  const parsed = parseMinisignPublicKey(text);
  if (parsed === undefined) throw new Error('no key');
  return parsed;
}

const verified = (content: string, signature: string, ...keys: string[]): Verification =>
  verifyMinisign(Buffer.from(content), signature, keys.map(keyOf));
const unsigned = (...request: Parameters<typeof verified>): string | undefined => {
  const verification = verified(...request);
  return 'unsignedBecause' in verification ? verification.unsignedBecause : undefined;
};

describe.each([
  ['legacy', legacy],
  ['prehashed', prehashed],
])('a %s signature of minisign', (_form, signature) => {
  test('is believed', () => {
    expect(unsigned('test', signature, key)).toBeUndefined();
  });

  test('is believed with the lines of Windows', () => {
    expect(unsigned('test', signature.replaceAll('\n', '\r\n'), key)).toBeUndefined();
  });

  test.each([
    ['is of its content alone', 'Test', signature, 'the signature is for other content'],
    [
      'is of its trusted comment too',
      'test',
      signature.replace('file:test', 'file:prod'),
      'the trusted comment of the signature was changed',
    ],
    ['may have any untrusted comment', 'test', signature.replace('secret', 'own'), undefined],
  ])('%s', (_what, content, text, reason) => {
    expect(unsigned(content, text, key)).toBe(reason);
  });
});

test.each([
  ['timestamp:1555779966\tfile:test', 1_555_779_966],
  ['timestamp:1555779966', 1_555_779_966],
  ['release 7, timestamp:1555779966', undefined],
  ['timestamp:1555779966000000', undefined],
  ['timestamp:soon', undefined],
  ['', undefined],
])('the time of a signature is what minisign writes: %j', (comment, signedAtSeconds) => {
  const signer = new MinisignSigner();
  expect(verified('a', signer.sign('a', { comment }), signer.publicKey)).toEqual({ signedAtSeconds });
});

test('a signature of another key is not believed', () => {
  const [mine, other] = [new MinisignSigner(), new MinisignSigner()];
  const { keyId } = keyOf(other.publicKey);
  expect(unsigned('a', other.sign('a'), mine.publicKey)).toBe(
    `it is signed with the key ${keyId}, which is not one of the public keys`,
  );
  expect(unsigned('a', other.sign('a'), mine.publicKey, other.publicKey)).toBeUndefined();
});

test.each([
  ['nothing', ''],
  ['a web page', '<html>\n<body>\n</body>\n</html>\n'],
  ['a signature of OpenBSD, without a trusted comment', legacy.split('\n').slice(0, 2).join('\n')],
  ['a signature that is cut', legacy.slice(0, -5)],
  ['a signature of another algorithm', legacy.replace('RWQf', 'UldR')],
])('%s is not a signature', (_what, text) => {
  expect(unsigned('test', text, key)).toBe('the signature is not in the format of minisign');
});

test.each([
  ['nothing', ''],
  ['the file of the key', `untrusted comment: minisign public key\n${key}\n`],
  ['a key that is cut', key.slice(0, -4)],
  ['a signature', legacy.split('\n')[1] ?? ''],
  ['something else of that length', 'AAAA'.repeat(14)],
])('%s is not a public key', (_what, text) => {
  expect(parseMinisignPublicKey(text)).toBeUndefined();
});
