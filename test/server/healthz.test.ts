import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveHealthz } from '../../src/server/healthz.ts';
import { silentFaults } from '../fakes/silent-faults.ts';

async function serve(unhealthyBecause: () => string | undefined, port = 0): Promise<number> {
  const server = await serveHealthz({ bindAddress: '127.0.0.1', port, unhealthyBecause, faults: silentFaults() });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const get = async (port: number, path: string): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return `${response.status} ${await response.text()}`;
};

test('says ok while all is well, and else what is wrong', async () => {
  const problems: string[] = [];
  const port = await serve(() => problems[0]);
  expect(await get(port, '/healthz')).toBe('200 ok\n');
  problems.push('PLEG is not healthy');
  expect(await get(port, '/healthz?verbose')).toBe('500 PLEG is not healthy\n');
  expect(await get(port, '/')).toBe('404 not found\n');
});

test('says who may have the port when it is taken', async () => {
  const port = await serve(() => undefined);
  await expect(serve(() => undefined, port)).rejects.toMatchObject({
    name: 'UserError',
    message: `healthz cannot listen on 127.0.0.1:${port}: the port is in use`,
    hint: 'Is a kubelet running already? Choose another --healthz-port, or 0 for none.',
  });
});
