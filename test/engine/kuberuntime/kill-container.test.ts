import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { killContainer } from '../../../src/engine/kuberuntime/kill-container.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

test('a preStop request that gets no answer ends with the grace period', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const pod = makeStaticPod('web', {
    spec: {
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'main', lifecycle: { preStop: { httpGet: { port } } } }],
    },
  });
  const events: string[] = [];
  const record = (reason: string): unknown => events.push(reason);
  const kill = { containerID: 'c1', name: 'main', podIPs: ['127.0.0.1'] };
  const connected = once(server, 'connection');
  const requested = once(server, 'request');
  const killed = killContainer({ runtime, clock }, pod, kill, { normal: record, warning: record });
  const [socket] = (await connected) as [NodeJS.EventEmitter];
  const closed = once(socket, 'close');
  await requested;
  await clock.advance(30_000);
  await killed;
  await closed;
  expect(events).toEqual(['Killing']);
});

test('the longest grace period of a pod is the longest that the runtime takes', async () => {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const pod = makeStaticPod('web', { spec: { terminationGracePeriodSeconds: 2 ** 63 } });
  const recorder = { normal: () => undefined, warning: () => undefined };
  await killContainer({ runtime, clock }, pod, { containerID: 'c1', name: 'main', podIPs: [] }, recorder);
  expect(runtime.requestsOf('stopContainer')).toMatchObject([{ containerId: 'c1', timeout: 9_223_372_036n }]);
});
