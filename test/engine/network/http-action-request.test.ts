import { expect, test } from 'vitest';
import { httpProbeRequest } from '../../../src/engine/network/http-action-request.ts';
import { UserError } from '../../../src/errors.ts';
import { makeContainer } from '../../builders/pods.ts';

const urlFor = (host: string): string =>
  httpProbeRequest({ port: 80, path: '/', host }, makeContainer(), { podIP: '10.0.0.5', userAgent: 'probe' }).url;

test.each([
  ['', 'http://10.0.0.5:80/'],
  ['fe80::1', 'http://[fe80::1]:80/'],
  ['fe80::1%eth0', 'http://[fe80::1%25eth0]:80/'],
  ['fe80::1%e 0', 'http://[fe80::1%25e%200]:80/'],
  ['fe80::1%a%20b', 'http://[fe80::1%25a%2520b]:80/'],
  ['ä.test', 'http://%C3%A4.test:80/'],
])('the URL for the host "%s" is escaped once', (host, url) => {
  expect(urlFor(host)).toBe(url);
});

test.each(['fe80::1%', 'fe80::1%a/b', 'fe80::1%ä'])('the zone of "%s" is refused', (host) => {
  expect(() => urlFor(host)).toThrow(UserError);
});
