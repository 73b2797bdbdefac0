import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { probeContainer } from '../../../src/engine/prober/prober.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

test('a probe whose answer breaks off is made three times, and then is an event without a result', async () => {
  let requests = 0;
  const server = createServer((socket) =>
    socket.once('data', () => {
      requests += 1;
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok');
    }),
  ).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clock = new FakeClock();
  const deps = {
    runtime: new FakeRuntime({ clock }),
    checkHealth: () => Promise.reject(new Error('no gRPC probe is run')),
    clock,
  };
  const target = {
    container: { name: 'app' },
    containerID: 'c1',
    podIP: '127.0.0.1',
    signal: new AbortController().signal,
  };
  const events: unknown[] = [];
  const note = (...event: unknown[]): void => void events.push(event);
  const outcome = await probeContainer(deps, 'liveness', { httpGet: { port } }, target, {
    normal: note,
    warning: note,
  });
  expect({ requests, outcome, events }).toEqual({
    requests: 3,
    outcome: 'error',
    events: [['Unhealthy', 'Liveness probe errored and resulted in unknown state: unexpected EOF', 'app']],
  });
});
