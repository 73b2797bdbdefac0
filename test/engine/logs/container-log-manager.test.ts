import { execFileSync } from 'node:child_process';
import {
  appendFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ContainerLogManager, type ContainerLogSettings } from '../../../src/engine/logs/container-log-manager.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const periodMs = 10_000;
/** 1 January 2025, 00:00:00 local time. */
const midnight = new Date(2025, 0, 1).getTime();

let world: LogWorld;

beforeEach(async () => {
  world = new LogWorld(await temporaryFolder());
});

/** Containers with logs of at most 100 bytes, and the part that rotates them. */
class LogWorld {
  readonly folder: string;
  readonly clock = new FakeClock(midnight - periodMs);
  readonly ids: string[] = [];
  /** The check at the start of the agent sees no container, so every rotation has the time of a later check. */
  private isListed = false;
  /** `status ID` and `reopen ID` */
  readonly calls: string[] = [];
  readonly warnings: string[] = [];
  /** In place of a reopened log, by container id. */
  readonly reopening = new Map<string, () => Promise<void>>();
  readonly stopped = new AbortController();
  ended: Promise<void> = Promise.resolve();
  manager: ContainerLogManager | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Runs a container and resolves with the path of its log. */
  async container(id: string, content?: string): Promise<string> {
    await mkdir(join(this.folder, id));
    this.ids.push(id);
    if (content !== undefined) await writeFile(this.log(id), content);
    return this.log(id);
  }

  log(id: string): string {
    return join(this.folder, id, '0.log');
  }

  start(settings: Partial<ContainerLogSettings> = {}): void {
    const warn = ({ containerID = '', err = '' }: { containerID?: string; err?: string }): void => {
      this.warnings.push(`${containerID}: ${err.replaceAll(this.folder, '')}`);
    };
    const logger = { warn, info: warn, error: warn, debug: warn, child: () => logger };
    this.manager = new ContainerLogManager({
      settings: { maxSizeBytes: 100n, maxFiles: 4, maxWorkers: 1, monitorIntervalMs: periodMs, ...settings },
      runtime: {
        containerStatus: ({ containerId = '' } = {}) => {
          this.calls.push(`status ${containerId}`);
          return Promise.resolve({ status: { logPath: this.log(containerId) } } as never);
        },
        reopenContainerLog: async ({ containerId = '' } = {}, { signal } = {}) => {
          this.calls.push(`reopen ${containerId}`);
          signal?.throwIfAborted();
          const aborted = new Promise<never>((_, reject) => {
            signal?.addEventListener('abort', () => {
              reject(signal.reason as Error);
            });
          });
          const reopen = this.reopening.get(containerId) ?? (() => writeFile(this.log(containerId), ''));
          await Promise.race([reopen(), aborted]);
          return {};
        },
      },
      runningContainers: () => (this.isListed ? this.ids : []).map((id) => ({ id, name: 'app', podUID: 'u1' })),
      clock: this.clock,
      logger: logger as never,
    });
    this.ended = this.manager.run(this.stopped.signal).catch(() => undefined);
    this.isListed = true;
    onTestFinished(async () => {
      this.stopped.abort();
      await this.ended;
    });
  }

  /** Waits, in turns of the event loop, for what file operations lead to. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await setImmediate();
  }

  /** Lets the next check happen, and waits for what it does. */
  async check(): Promise<void> {
    await this.clock.advance(periodMs);
    await this.manager?.settled();
  }

  /** The files of a container's log and their uncompressed content. */
  async files(id: string): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    for (const name of (await readdir(join(this.folder, id))).sort()) {
      const path = join(this.folder, id, name);
      if (!(await lstat(path)).isFile()) files[name] = 'no file';
      else files[name] = (name.endsWith('.gz') ? gunzipSync(await readFile(path)) : await readFile(path)).toString();
    }
    return files;
  }
}

const big = (text: string): string => text.repeat(100).slice(0, 100);

test('a log of the largest size is rotated, the older files are compressed, and the oldest go', async () => {
  const log = await world.container('c1', '');
  world.start();
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    await appendFile(log, big(text));
    await world.check();
  }
  await appendFile(log, 'small');
  await world.check();
  expect(await world.files('c1')).toEqual({
    '0.log': 'small',
    '0.log.20250101-000020.gz': big('c'),
    '0.log.20250101-000030.gz': big('d'),
    '0.log.20250101-000040': big('e'),
  });
  expect((await stat(`${log}.20250101-000030.gz`)).mode & 0o777).toBe(0o644);
  expect(world.warnings).toEqual([]);
});

test('the runtime is called once for the path of a log, and not at all while nothing is to do', async () => {
  await world.container('c1', 'short');
  world.start();
  for (let checks = 0; checks < 5; checks++) await world.check();
  expect(world.calls).toEqual(['status c1']);
});

test('a log that grows fast is rotated between checks, and compressed when it is calm', async () => {
  const fastBytes = 64 * 1024 * 1024;
  const log = await world.container('c1', '');
  const reopened = new Promise<void>((resolve) => {
    world.reopening.set('c1', async () => {
      await writeFile(log, '');
      // It grows on between checks, once.
      if ((await readdir(join(world.folder, 'c1'))).length === 2) await truncate(log, fastBytes);
      else resolve();
    });
  });
  world.start();
  await world.clock.advance(periodMs - 1);
  await truncate(log, fastBytes);
  await world.clock.advance(1);
  await world.until(() => world.calls.includes('reopen c1'));
  await world.until(() => world.clock.pending === 2);
  await world.clock.advance(5000);
  await reopened;
  expect((await readdir(join(world.folder, 'c1'))).sort()).toEqual([
    '0.log',
    '0.log.20250101-000000',
    '0.log.20250101-000005',
  ]);
  await world.clock.advance(4000);
  await world.manager?.settled();
  expect((await readdir(join(world.folder, 'c1'))).sort()).toEqual([
    '0.log',
    '0.log.20250101-000000.gz',
    '0.log.20250101-000005.gz',
  ]);
  expect(world.warnings).toEqual([]);
});

test('the fastest log is checked twice a second', async () => {
  const log = await world.container('c1', '');
  const times: number[] = [];
  world.reopening.set('c1', async () => {
    times.push(world.clock.monotonic());
    await writeFile(log, '');
    // So much in half a second that the next look would be due sooner.
    if (times.length < 3) await truncate(log, 2 ** 30);
  });
  world.start();
  await truncate(log, 20 * 2 ** 30);
  await world.clock.advance(periodMs);
  await world.until(() => times.length === 1 && world.clock.pending === 2);
  await world.clock.advance(499);
  expect(times).toHaveLength(1);
  await world.clock.advance(1);
  await world.until(() => times.length === 2 && world.clock.pending === 2);
  await world.clock.advance(500);
  await world.until(() => times.length === 3);
  expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 500, 1000]);
});

test('no log is rotated with a negative size', async () => {
  await world.container('c1', big('a'));
  world.start({ maxSizeBytes: -1n });
  await world.check();
  expect({ calls: world.calls, files: await world.files('c1') }).toEqual({ calls: [], files: { '0.log': big('a') } });
});

test('rotated files stay in their order when the clock is set back', async () => {
  const log = await world.container('c1', big('a'));
  world.start();
  await world.check();
  world.clock.setWallClock(midnight - 3_600_000);
  await appendFile(log, big('b'));
  await world.check();
  expect(await world.files('c1')).toEqual({
    '0.log': '',
    '0.log.20250101-000000.gz': big('a'),
    '0.log.20250101-000001': big('b'),
  });
});

describe('what is left of an interrupted rotation', () => {
  test('is repaired: a renamed log that the runtime still writes, and files that were half compressed', async () => {
    const log = await world.container('c1', big('a'));
    await rename(log, `${log}.20241231-230000`);
    await writeFile(`${log}.20241231-220000.tmp`, 'half');
    await writeFile(`${log}.20241231-210000`, 'twin');
    await writeFile(`${log}.20241231-210000.gz`, gzipSync('twin'));
    world.start();
    await world.check();
    expect(world.calls).toEqual(['status c1', 'reopen c1']);
    await appendFile(log, big('b'));
    await world.check();
    expect(await world.files('c1')).toEqual({
      '0.log': '',
      '0.log.20241231-210000.gz': 'twin',
      '0.log.20241231-230000.gz': big('a'),
      '0.log.20250101-000010': big('b'),
    });
  });

  test('is not a second name of the log, which the undo of a rename left', async () => {
    const log = await world.container('c1', big('a'));
    execFileSync('ln', [log, `${log}.20241231-230000`]);
    world.start();
    await world.check();
    expect(await world.files('c1')).toEqual({ '0.log': '', '0.log.20250101-000000': big('a') });
  });
});

describe('a runtime', () => {
  test('that refuses to reopen a log finds it under its name again, and is reported once', async () => {
    const log = await world.container('c1', big('a'));
    world.reopening.set('c1', () => Promise.reject(new Error('not now')));
    world.start();
    await world.check();
    await world.check();
    await appendFile(log, 'b');
    expect(await world.files('c1')).toEqual({ '0.log': `${big('a')}b` });
    expect(world.warnings).toEqual(['c1: not now']);
    world.reopening.clear();
    await world.check();
    expect(await world.files('c1')).toEqual({ '0.log': '', '0.log.20250101-000020': `${big('a')}b` });
  });

  test('that reopened a log although it reported a failure loses no line', async () => {
    const log = await world.container('c1', big('a'));
    world.reopening.set('c1', async () => {
      await writeFile(log, 'new');
      throw new Error('late');
    });
    world.start();
    await world.check();
    expect(await world.files('c1')).toEqual({ '0.log': 'new', '0.log.20250101-000000': big('a') });
    expect(world.warnings).toEqual([]);
  });

  test('that never answers delays no other container, and the rename is undone when the agent stops', async () => {
    await world.container('hung', big('a'));
    await world.container('c2', big('b'));
    const asked = new Promise<void>((resolve) => {
      world.reopening.set('hung', () => {
        resolve();
        return new Promise(() => undefined);
      });
    });
    const reopened = new Promise<void>((resolve) => {
      world.reopening.set('c2', async () => {
        await writeFile(world.log('c2'), '');
        resolve();
      });
    });
    world.start();
    await world.clock.advance(periodMs);
    await Promise.all([asked, reopened]);
    await world.clock.advance(periodMs);
    world.stopped.abort();
    await world.ended;
    expect(world.calls.filter((call) => call === 'reopen hung')).toHaveLength(1);
    expect([await world.files('hung'), await world.files('c2')]).toEqual([
      { '0.log': big('a') },
      { '0.log': '', '0.log.20250101-000000': big('b') },
    ]);
  });
});

describe('what is not a regular file', () => {
  test('is not rotated: a named pipe and a link in place of a log', async () => {
    const pipe = await world.container('c1');
    execFileSync('mkfifo', [pipe]);
    const link = await world.container('c2');
    await writeFile(join(world.folder, 'store'), big('a'));
    await symlink('../store', link);
    await world.container('c3', big('c'));
    world.start();
    await world.check();
    await world.check();
    expect(world.warnings).toEqual(['c1: /c1/0.log is not a regular file']);
    expect(await world.files('c2')).toEqual({ '0.log': 'no file' });
    expect(await world.files('c3')).toEqual({ '0.log': '', '0.log.20250101-000000': big('c') });
  });

  test('is left alone among rotated files, but not in place of a temporary file', async () => {
    const log = await world.container('c1', big('a'));
    await writeFile(`${log}.20241231-230000`, 'older');
    execFileSync('mkfifo', [`${log}.20241231-220000`, `${log}.20241231-230000.tmp`]);
    await symlink('/etc/hostname', `${log}.20241231-210000`);
    world.start();
    await world.check();
    expect(await world.files('c1')).toEqual({
      '0.log': '',
      '0.log.20241231-210000': 'no file',
      '0.log.20241231-220000': 'no file',
      '0.log.20241231-230000.gz': 'older',
      '0.log.20250101-000000': big('a'),
    });
  });
});

test('files that cannot be compressed stay as they are, are reported once, and count', async () => {
  const log = await world.container('c1', big('a'));
  world.start();
  await world.check();
  const blocked = async (): Promise<void> => {
    const [newest = ''] = (await readdir(join(world.folder, 'c1')))
      .filter((name) => /-\d+$/.test(name))
      .sort()
      .reverse();
    await mkdir(join(world.folder, 'c1', `${newest}.tmp`));
  };
  for (const text of ['b', 'c', 'd']) {
    await blocked();
    await appendFile(log, big(text));
    await world.check();
  }
  const files = Object.entries(await world.files('c1')).filter(([, content]) => content !== 'no file');
  expect(Object.fromEntries(files)).toEqual({
    '0.log': '',
    '0.log.20250101-000010': big('b'),
    '0.log.20250101-000020': big('c'),
    '0.log.20250101-000030': big('d'),
  });
  expect(world.warnings).toEqual(['c1: cannot compress the rotated files of /c1/0.log: file already exists']);
});

test('a pod that is removed meanwhile costs one warning', async () => {
  const log = await world.container('c1', big('a'));
  world.reopening.set('c1', async () => {
    await rm(join(log, '..'), { recursive: true });
    throw new Error('no such container');
  });
  world.start();
  await world.check();
  expect(world.warnings).toEqual(['c1: no such container']);
});
