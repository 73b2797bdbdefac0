import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { serveHealthz } from '../../../src/server/api/healthz.ts';
import { silentFaults } from '../../fakes/silent-faults.ts';

async function serve(unhealthyBecause: () => string | undefined, port = 0, bindAddress = '127.0.0.1'): Promise<number> {
  const server = await serveHealthz({ bindAddress, port, unhealthyBecause, faults: silentFaults() });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const get = async (port: number, path: string, host = '127.0.0.1'): Promise<string> => {
  const response = await fetch(`http://${host}:${port}${path}`);
  return `${response.status} ${await response.text()}`;
};

test('says ok while all is well, and else what is wrong', async () => {
  const problems: string[] = [];
  const port = await serve(() => problems[0]);
  expect(await get(port, '/healthz')).toBe('200 ok');
  expect(await get(port, '/healthz?verbose')).toBe('200 [+]ping ok\nhealthz check passed\n');
  problems.push('PLEG is not healthy');
  expect(await get(port, '/healthz')).toBe(
    '500 [+]ping ok\n[-]syncloop failed: PLEG is not healthy\nhealthz check failed\n',
  );
  expect(await get(port, '/healthz/ping')).toBe('200 ok');
  expect(await get(port, '/')).toBe('404 404 page not found\n');
});

test('names the exclusions that fit no check, each once and in order', async () => {
  const port = await serve(() => undefined);
  const query = ['z', 'a', 'ping', 'z', '\u{1f600}', '\uff5e'].map((name) => `exclude=${encodeURIComponent(name)}`);
  expect(await get(port, `/healthz?verbose&${query.join('&')}`)).toBe(
    '200 [+]ping excluded: ok\n' +
      'warn: some health checks cannot be excluded: no matches for "a","z","\uff5e","\u{1f600}"\n' +
      'healthz check passed\n',
  );
});

test('listens on the address that it is given, and on no other', async () => {
  const port = await serve(() => undefined);
  await expect(get(port, '/healthz', '127.0.0.2')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const hosts = ['127.0.0.2', ...own.filter(({ family }) => family === 'IPv4').map(({ address }) => address)];
  const everywhere = await serve(() => undefined, 0, '0.0.0.0');
  const answers = await Promise.all(hosts.map((host) => get(everywhere, '/healthz', host)));
  expect(new Set(answers)).toEqual(new Set(['200 ok']));
});

test('says who may have the port when it is taken', async () => {
  const port = await serve(() => undefined);
  await expect(serve(() => undefined, port)).rejects.toMatchObject({
    name: 'UserError',
    message: `healthz cannot listen on 127.0.0.1:${port}: the port is in use`,
    hint: 'Is a kubelet running already? Choose another --healthz-port, or 0 for none.',
  });
});
