import { expect, test } from 'vitest';
import { boundedText } from '../../src/text/bounded-text.ts';
import { SecretValues } from '../../src/engine/redaction/secret-values.ts';
import { ServiceManager } from '../../src/node/service-manager.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { NotifySocket } from '../fakes/notify-socket.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

const { pid } = process;

test('each state reaches the socket as a datagram of the agent, in the order of the calls', async () => {
  const socket = await NotifySocket.open();
  const clock = new FakeClock();
  await clock.advance(1234.5678);
  const service = new ServiceManager({ NOTIFY_SOCKET: socket.path }, { clock, logger: silentLogger, pid });
  const sent = await Promise.all([
    service.reloading(),
    service.status('Waiting for\nthe container runtime'),
    service.extendStart(300_000),
    service.ready('Running'),
    service.extendStart(300_000),
    service.reloading(),
    service.reloaded('Running'),
    service.alive(),
    service.stopping('Stopping', 30_000),
    service.reloaded('Running'),
  ]);
  expect(sent[7]).toBe(true);
  await socket.journal.next(({ text }) => text.startsWith('STOPPING'));
  expect(socket.journal.items.slice(1)).toEqual(
    [
      'STATUS=Waiting for the container runtime',
      'EXTEND_TIMEOUT_USEC=300000000',
      `READY=1 MAINPID=${pid} STATUS=Running`,
      'RELOADING=1 MONOTONIC_USEC=1234567 STATUS=Reloading the configuration',
      `READY=1 MAINPID=${pid} STATUS=Running`,
      'WATCHDOG=1',
      'STOPPING=1 STATUS=Stopping EXTEND_TIMEOUT_USEC=30000000',
    ].map((text) => ({ pid, text })),
  );
});

test('a state is one line without values of Secrets, and cut', async () => {
  const socket = await NotifySocket.open();
  const secrets = new SecretValues();
  secrets.set('test', ['hunter2-hunter2']);
  const env = { NOTIFY_SOCKET: socket.path };
  const service = new ServiceManager(env, { clock: new FakeClock(), logger: silentLogger, pid, secrets });
  await service.status(`no\nhunter2-hunter2 \x1b[31m${'é'.repeat(1000)}`);
  await socket.journal.next(({ text }) => text.startsWith('STATUS'));
  const shown = boundedText(String.raw`no <hidden> \x1b[31m` + 'é'.repeat(1000), 300);
  expect(socket.journal.items.slice(1)).toEqual([{ pid, text: `STATUS=${shown}` }]);
});

test('the escapes of a state count', async () => {
  const socket = await NotifySocket.open();
  const service = new ServiceManager(
    { NOTIFY_SOCKET: socket.path },
    { clock: new FakeClock(), logger: silentLogger, pid },
  );
  await service.status('\x1b'.repeat(1000));
  await socket.journal.next(({ text }) => text.startsWith('STATUS'));
  const shown = `${String.raw`\x1b`.repeat(75)} … 3700 bytes left out`;
  expect(socket.journal.items.slice(1)).toEqual([{ pid, text: `STATUS=${shown}` }]);
});

test('the variables of systemd are taken, so that no child notifies in the place of the agent', () => {
  const env = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(pid), PATH: '/bin' };
  const { watchdogMs } = new ServiceManager(env, { clock: new FakeClock(), logger: silentLogger, pid });
  expect({ watchdogMs, env }).toEqual({ watchdogMs: 60_000, env: { PATH: '/bin' } });
});

test.each([
  ['no watchdog', { NOTIFY_SOCKET: '/run/notify' }],
  ['the watchdog of another process', { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }],
  ['no service manager', { WATCHDOG_USEC: '60000000' }],
])('with %s there is none', (_case, env) => {
  const service = new ServiceManager(env, { clock: new FakeClock(), logger: silentLogger, pid });
  expect(service.watchdogMs).toBeUndefined();
});

test.each(['1000000', '0', '-5', 'soon'])('a watchdog of %s µs ends the start', (usec) => {
  const env = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: usec };
  expect(() => new ServiceManager(env, { clock: new FakeClock(), logger: silentLogger, pid })).toThrow(
    `the watchdog of systemd is too fast: WATCHDOG_USEC=${usec}`,
  );
});

test('a socket that was removed is a warning, and no error', async () => {
  const warnings: string[] = [];
  const warn = (_facts: unknown, message?: string): void => void warnings.push(message ?? '');
  const service = new ServiceManager(
    { NOTIFY_SOCKET: '/nonexistent/notify' },
    { clock: new FakeClock(), logger: { ...silentLogger, warn }, pid },
  );
  expect({ sent: await service.alive(), warnings }).toEqual({ sent: false, warnings: ['Notifying systemd failed'] });
});

test('without systemd nothing is sent', async () => {
  const service = new ServiceManager({}, { clock: new FakeClock(), logger: silentLogger, pid });
  expect(await service.alive()).toBe(true);
});
