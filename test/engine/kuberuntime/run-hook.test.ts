import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTCPServer } from 'node:net';
import type { LifecycleHandler } from 'kubernetes-types/core/v1.js';
import { expect, onTestFinished, test } from 'vitest';
import { runHook } from '../../../src/engine/kuberuntime/run-hook.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const clock = new FakeClock();

function run(
  hook: LifecycleHandler,
  runtime = new FakeRuntime({ clock }),
  signal = new AbortController().signal,
  containerID = 'c1',
) {
  const target = { container: { name: 'app' }, containerID, podIPs: ['127.0.0.1'], signal };
  return runHook({ runtime, clock }, hook, target);
}

/** Requests as `path user-agent`, all answered with 500. */
async function failingServer(): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    requests.push(`${url} ${headers['user-agent'] ?? ''} ${headers.authorization ?? 'anonymous'}`);
    response.writeHead(500).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

test('any answer of a server is a success', async () => {
  const { port, requests } = await failingServer();
  await run({ httpGet: { port, path: '/stop' } });
  expect(requests).toEqual(['/stop kube-lifecycle/1.36 anonymous']);
});

test('an answer whose body is cut off is a success, as in the kubelet, which does not need the body', async () => {
  const server = createTCPServer((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok')),
  ).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(run({ httpGet: { port } })).resolves.toBeUndefined();
});

test('a server that is asked by HTTPS and speaks HTTP is asked again so, without credentials', async () => {
  const { port, requests } = await failingServer();
  const httpHeaders = [{ name: 'Authorization', value: 'Bearer secret' }];
  await run({ httpGet: { port, scheme: 'HTTPS', path: '/stop', httpHeaders } });
  expect(requests).toEqual(['/stop kube-lifecycle/1.36 anonymous']);
});

test('a command that fails is an error with 2 KiB of its output', async () => {
  const runtime = new FakeRuntime({ clock });
  runtime.addImage('app:1');
  const { podSandboxId } = await runtime.runPodSandbox({ config: { metadata: { name: 'web' } } });
  const config = { metadata: { name: 'app' }, image: { image: 'app:1' } };
  const { containerId } = await runtime.createContainer({ podSandboxId, config });
  await runtime.startContainer({ containerId });
  runtime.scriptExec(() => ({ stdout: Buffer.alloc(5000, 'x'), exitCode: 1 }));
  await expect(run({ exec: { command: ['talk'] } }, runtime, undefined, containerId)).rejects.toThrow(
    `the command exited with 1: ${'x'.repeat(2048)} … 2952 bytes left out`,
  );
});

test('a sleep lasts as long as it says, unless it is given up', async () => {
  let isOver = false;
  const over = run({ sleep: { seconds: 5 } }).then(() => {
    isOver = true;
  });
  await clock.advance(4999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await over;

  const giveUp = new AbortController();
  const aborted = run({ sleep: { seconds: 5 } }, undefined, giveUp.signal);
  giveUp.abort(new Error('the pod has to go'));
  await expect(aborted).rejects.toThrow('the pod has to go');
});

test.each([
  ['tcpSocket', { tcpSocket: { port: 80 } }],
  ['nothing', {}],
])('%s is not a hook', async (_what, hook) => {
  await expect(run(hook)).rejects.toThrow(
    'invalid handler: the hook of container "app" is neither exec, httpGet nor sleep',
  );
});
