import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DBusSystemd } from '../../../src/engine/container-manager/dbus-systemd.ts';
import type { UnitProperty } from '../../../src/engine/container-manager/systemd.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeSystemd } from '../../fakes/fake-systemd.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

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

test('a machine without the bus is told of', async () => {
  const absent = new DBusSystemd({ clock: new FakeClock(), socketPath: `${socketPath}-absent` });
  await expect(absent.stopUnit('kubepods.slice')).rejects.toThrow('ENOENT');
});
