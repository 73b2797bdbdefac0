import { createBroker, createClient } from 'dbus-native';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DBusSystemd } from '../../../src/engine/container-manager/dbus-systemd.ts';
import type { UnitProperty } from '../../../src/engine/container-manager/systemd.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeSystemd } from '../../fakes/fake-systemd.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const properties: UnitProperty[] = [
  { name: 'Description', signature: 's', value: 'pods' },
  { name: 'Wants', signature: 'as', value: ['-.slice'] },
  { name: 'DefaultDependencies', signature: 'b', value: false },
];

let socketPath: string;
let fake: FakeSystemd;
let systemd: DBusSystemd;

beforeEach(async () => {
  const folder = await temporaryFolder();
  socketPath = join(folder, 'bus');
  fake = await FakeSystemd.start(socketPath);
  systemd = new DBusSystemd({ clock: new FakeClock(), socketPath });
  onTestFinished(() => {
    fake.stop();
  });
});

describe('over the bus, systemd', () => {
  test('makes a unit with its properties', async () => {
    await systemd.startTransientUnit('kubepods.slice', properties);
    expect(fake.units.get('kubepods.slice')).toEqual({
      Description: 'pods',
      Wants: ['-.slice'],
      DefaultDependencies: false,
    });
  });

  test('is fine with a unit that is there already', async () => {
    await systemd.startTransientUnit('kubepods.slice', properties);
    await expect(systemd.startTransientUnit('kubepods.slice', properties)).resolves.toBeUndefined();
  });

  test('sets what takes 64 bits exactly', async () => {
    await systemd.startTransientUnit('kubepods.slice', []);
    const none = 2n ** 64n - 1n;
    await systemd.setUnitProperties('kubepods.slice', [{ name: 'CPUQuotaPerSecUSec', signature: 't', value: none }]);
    expect(fake.units.get('kubepods.slice')).toEqual({ CPUQuotaPerSecUSec: none });
  });

  test('refuses to change a unit that is not there', async () => {
    await expect(systemd.setUnitProperties('kubepods.slice', [])).rejects.toMatchObject({
      dbusName: 'org.freedesktop.systemd1.NoSuchUnit',
    });
  });

  test('ends a unit; one that is not there has ended', async () => {
    await systemd.startTransientUnit('kubepods.slice', []);
    await systemd.stopUnit('kubepods.slice');
    expect(fake.units.size).toBe(0);
    await expect(systemd.stopUnit('kubepods.slice')).resolves.toBeUndefined();
  });

  test('is waited for until its job has ended', async () => {
    fake.holdsJobs = true;
    let isDone = false;
    const started = systemd.startTransientUnit('kubepods.slice', []).then(() => {
      isDone = true;
    });
    // An answer to a later call comes after that to the earlier one.
    await expect(systemd.setUnitProperties('other.slice', [])).rejects.toThrow();
    expect(isDone).toBe(false);
    fake.endJobs();
    await started;
  });

  test('is asked anew on another connection when it was lost', async () => {
    await systemd.startTransientUnit('kubepods.slice', []);
    fake.stop();
    await expect(systemd.setUnitProperties('kubepods.slice', [])).rejects.toThrow();
    await rm(socketPath, { force: true });
    fake = await FakeSystemd.start(socketPath);
    await systemd.startTransientUnit('kubepods.slice', []);
    expect(fake.calls).toEqual(['start kubepods.slice']);
  });
});

test('a machine without the bus is reported', async () => {
  const absent = new DBusSystemd({ clock: new FakeClock(), socketPath: `${socketPath}-absent` });
  await expect(absent.stopUnit('kubepods.slice')).rejects.toThrow('ENOENT');
});

/** A bus with a systemd that counts its jobs anew, as after it was executed anew: each job has the same path. */
async function systemdThatCountsAnew(path: string): Promise<{ state: { holdsJob: boolean }; endJob: () => void }> {
  const broker = createBroker();
  await new Promise<void>((resolve) => {
    broker.listen({ socket: path }, () => {
      resolve();
    });
  });
  const bus = createClient({ busAddress: `unix:path=${path}`, plainValues: true, returnBigInt: true });
  onTestFinished(() => {
    bus.connection.end();
    broker.close();
  });
  const [object, managerInterface, job] = [
    '/org/freedesktop/systemd1',
    'org.freedesktop.systemd1.Manager',
    '/org/freedesktop/systemd1/job/1',
  ];
  const state = { holdsJob: false };
  const endJob = (): void => {
    bus.sendSignal(object, managerInterface, 'JobRemoved', 'uoss', [1, job, 'unit', 'done']);
  };
  const start = (): string => {
    if (!state.holdsJob) endJob();
    return job;
  };
  bus.setMethodCallHandler(object, managerInterface, 'Subscribe', [() => null, '']);
  bus.setMethodCallHandler(object, managerInterface, 'StartTransientUnit', [start, 'o']);
  await bus.requestName('org.freedesktop.systemd1', 0);
  return { state, endJob };
}

test('a job of another program that ended between two calls is not taken for a later one', async () => {
  const path = `${socketPath}-anew`;
  const { state, endJob } = await systemdThatCountsAnew(path);
  const [ours, other] = [0, 1].map(() => new DBusSystemd({ clock: new FakeClock(), socketPath: path }));
  await ours?.startTransientUnit('a.slice', []);
  // The bus tells us of the end of this job before it answers the other program.
  await other?.startTransientUnit('b.slice', []);
  state.holdsJob = true;
  let isDone = false;
  const started = ours?.startTransientUnit('c.slice', []).then(() => {
    isDone = true;
  });
  await expect(ours?.setUnitProperties('c.slice', [])).rejects.toThrow();
  expect(isDone).toBe(false);
  endJob();
  await started;
});
