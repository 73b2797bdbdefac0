import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { moveToOwnScope } from '../../src/node/own-scope.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeSystemd } from '../fakes/fake-systemd.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const containerd = { pid: 4711, startTicks: '99' };
const unit = 'kubelet-ts-containerd-4711-99.scope';

async function setUp() {
  const socketPath = join(await temporaryFolder(), 'bus');
  const systemd = await FakeSystemd.start(socketPath);
  onTestFinished(() => {
    systemd.stop();
  });
  return { systemd, socketPath };
}

const deps = { rootDir: '/var/lib/kubelet-ts', clock: new FakeClock(), logger: silentLogger };
const named = (name: string) => ({ firstProcess: () => Promise.resolve(name) });

test('a new containerd gets a scope that no limit and no stop of the service concerns', async () => {
  const { systemd, socketPath } = await setUp();
  await moveToOwnScope(containerd, { ...deps, socketPath, ...named('systemd') });
  expect(Object.fromEntries(systemd.units)).toEqual({
    [unit]: {
      Description: 'containerd of kubelet-ts (/var/lib/kubelet-ts)',
      PIDs: [4711],
      Slice: 'system.slice',
      DefaultDependencies: false,
      Delegate: true,
      TasksMax: 2n ** 64n - 1n,
      CollectMode: 'inactive-or-failed',
    },
  });
});

test.each(['init', 'node', ''])('nothing happens where the first process is %j', async (name) => {
  const { systemd, socketPath } = await setUp();
  await moveToOwnScope(containerd, { ...deps, socketPath, ...named(name) });
  expect(systemd.calls).toEqual([]);
});

test('without an answer, containerd stays where it is, with a warning', async () => {
  const socketPath = join(await temporaryFolder(), 'bus');
  const { logger, lines } = lineLogger();
  await moveToOwnScope(containerd, { ...deps, logger, socketPath, ...named('systemd') });
  const hint = 'Until containerd restarts, killing the kubelet-ts service stops every pod.';
  const facts = { unit, err: `connect ENOENT ${socketPath}`, hint };
  expect(lines).toEqual([`warn Could not move containerd to a separate systemd unit ${JSON.stringify(facts)}`]);
});
