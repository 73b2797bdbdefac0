import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stoppedByDownCode } from '../../src/commands/service/systemd-unit.ts';
import { NotifySocket } from '../fakes/notify-socket.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

test('a service manager sees start, watchdog, reload and stop', async () => {
  const socket = await NotifySocket.open();
  const config = join(await temporaryFolder(), 'config.yaml');
  const write = (field: string): Promise<void> =>
    writeFile(config, `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${field}\n`);
  await write('maxPods: 10');
  const agent = await startAgent({
    manifests: { 'web.json': makePod('web', { containers: [shell('app', serve)] }) },
    flags: ['--config', config],
    environment: { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: '10000000' },
  });
  onTestFinished(() => agent.cleanUp());
  const { pid } = agent;
  const notified = async (text: string): Promise<void> => {
    expect(await socket.journal.next((one) => one.text.startsWith(text.split(' ')[0] ?? ''))).toEqual({ pid, text });
  };
  await notified(`READY=1 MAINPID=${pid} STATUS=Running`);
  await notified('WATCHDOG=1');
  // The managed containerd would also notify, if it had the variable.
  await agent.untilReady('web');

  await write('maxPods: 20');
  process.kill(pid, 'SIGHUP');
  const reloading = await socket.journal.next(({ text }) => text.startsWith('RELOADING'));
  expect(reloading.text).toMatch(/^RELOADING=1 MONOTONIC_USEC=\d+ STATUS=Reloading the configuration$/);
  await notified(`READY=1 MAINPID=${pid} STATUS=Running`);
  const waiting = await agent.waitForLog(({ msg }) => msg === 'Restart the agent to apply these fields');
  expect(waiting['fields']).toEqual(['maxPods']);

  await write('maxPods: many');
  process.kill(pid, 'SIGHUP');
  const kept = await agent.waitForLog(({ msg }) => msg === 'The agent keeps its configuration and certificates');
  expect(kept['err']).toContain(`${config}:3:10`);
  const ready = await socket.journal.next(({ text }) => text.startsWith('READY'));
  expect(ready.text).toContain('STATUS=Running with the configuration before the reload: the configuration is invalid');

  expect(await agent.stop()).toEqual({ code: 0, signal: null });
  await notified('STOPPING=1 STATUS=Stopping, pods keep running');
  const senders = new Set(socket.journal.items.slice(1).map((one) => one.pid));
  expect(senders).toEqual(new Set([pid]));
});

test('down ends the agent of a service with the exit code after which systemd does not start it again', async () => {
  const socket = await NotifySocket.open();
  const agent = await startAgent({ environment: { NOTIFY_SOCKET: socket.path } });
  onTestFinished(() => agent.cleanUp());
  const exit = agent.exit();
  expect(await agent.down()).toEqual({ code: 0, stdout: 'kubelet-ts stopped\n', stderr: '' });
  expect(await exit).toEqual({ code: stoppedByDownCode, signal: null });
  await socket.journal.next(({ text }) => text.startsWith('STOPPING'));
  // Nothing asks for a watchdog.
  expect(socket.journal.items.slice(1).map(({ text }) => text.split('=')[0])).toEqual(['READY', 'STOPPING']);
});
