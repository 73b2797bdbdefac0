import { createSecureContext } from 'node:tls';
import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { tlsLimits } from '../../../src/server/api/tls-options.ts';

const ofTLS13 = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';
const weak = ['TLS_RSA_WITH_RC4_128_SHA', 'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA'];

test('suites that this program can no longer serve are left out, if another one is left', () => {
  const limits = tlsLimits({ tlsMinVersion: '', tlsCipherSuites: [...weak, 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] });
  expect(limits).toEqual({ minVersion: 'TLSv1.2', ciphers: `${ofTLS13}:ECDHE-RSA-AES128-GCM-SHA256` });
});

test('suites of which none can be served are a mistake, unless TLS 1.3 alone is served', () => {
  expect(() => tlsLimits({ tlsMinVersion: 'VersionTLS12', tlsCipherSuites: weak })).toThrow(
    new UserError(`none of the cipher suites ${weak.join(', ')} can be served`, {
      hint: 'RC4 and 3DES are broken. Name another suite in tlsCipherSuites (--tls-cipher-suites).',
    }),
  );
  const limits = tlsLimits({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites: weak });
  expect(limits).toEqual({ minVersion: 'TLSv1.3', ciphers: ofTLS13 });
  expect(() => createSecureContext(limits)).not.toThrow();
});

test('an unknown suite is a mistake', () => {
  expect(() => tlsLimits({ tlsMinVersion: '', tlsCipherSuites: ['AES128-SHA'] })).toThrow(
    "Cipher suite AES128-SHA not supported or doesn't exist",
  );
});

test('curves are named by their numbers, in the order of preference', () => {
  const limitsOf = (...tlsCurvePreferences: number[]) =>
    tlsLimits({ tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences });
  const limits = limitsOf(29, 23);
  expect(limits).toEqual({ minVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' });
  expect(() => createSecureContext(limits)).not.toThrow();
  expect(() => limitsOf(99)).toThrow('tlsCurvePreferences: curve 99 is not supported');
  expect(() => limitsOf(29, 23, 29)).toThrow('tlsCurvePreferences: curve 29 is repeated');
});
