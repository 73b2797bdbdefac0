import { expect, test, vi } from 'vitest';
import { proxyFor } from '../../../src/node/sources/node-sources.ts';

test.each([
  ['http://box.example/pods.yaml', 'http://plain.example:3128'],
  ['https://box.example/pods.yaml', 'http://tls.example:3128'],
  ['https://near.example/pods.yaml', undefined],
  ['http://127.0.0.1:8080/pods.yaml', undefined],
  ['http://localhost/pods.yaml', undefined],
])('the proxy on the way to %s is %s', (url, proxy) => {
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy']) vi.stubEnv(name, '');
  vi.stubEnv('HTTP_PROXY', 'http://plain.example:3128');
  vi.stubEnv('HTTPS_PROXY', 'http://tls.example:3128');
  vi.stubEnv('NO_PROXY', 'near.example');
  try {
    expect(proxyFor(url)).toBe(proxy);
  } finally {
    vi.unstubAllEnvs();
  }
});
