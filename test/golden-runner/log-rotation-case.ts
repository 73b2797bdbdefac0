import { constants } from 'node:fs';
import { appendFile, chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ContainerLogManager } from '../../src/engine/logs/container-log-manager.ts';
import { nodeConfig } from '../../src/node/node-config.ts';
import { makeMachine } from '../builders/machine.ts';
import { fixedNode } from '../builders/node-config.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { optionsOf, withConfigFile } from './start-case.ts';

/** One container and the files of its log; test/golden/logs/README.md gives the format. */
export interface LogRotationCase {
  name: string;
  flags: string[];
  config?: string;
  script: string;
  events: RecordedEvent[];
  finalFiles: FinalFile[];
  stampFormat?: string;
}

interface RecordedEvent {
  t: number;
  did?: string;
  call?: string;
  files?: string[];
}

interface FinalFile {
  name: string;
  mode: string;
  plainBytes: number;
}

/** What happened at which check of the logs: a call, or a change of the folder. */
interface Seen {
  check: number;
  call?: string;
  files: string[];
}

interface Replay {
  seen: Seen[];
  finalFiles: FinalFile[];
  stampFormat?: string;
}

const log = '0.log';
const secondMs = 1000;
/** Just before an event, which is recorded to 0.1 s. */
const beforeMs = 50;
/** Recorded time of a container that started. */
const startedAt = -1;

/** Replays what was done to a log, with real files, through the part that rotates logs. */
export async function replayLogRotation(rotation: LogRotationCase): Promise<{ expected: Replay; actual: Replay }> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-logs-'));
  try {
    const options = await withConfigFile(rotation, optionsOf);
    const settings = nodeConfig(options, makeMachine(), fixedNode).containerLogs;
    const period = settings.monitorIntervalMs / secondMs;
    const firstCall = rotation.events.find(({ call }) => call !== undefined)?.t ?? period + startedAt;
    const timing = { period, phase: firstCall % period };
    const world = new LogWorld(join(folder, 'app'), rotation, timing);
    const actual = await world.replay(settings);
    const { finalFiles, stampFormat } = rotation;
    return {
      expected: { seen: recordedOf(rotation, timing), finalFiles, ...(stampFormat && { stampFormat }) },
      actual,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Timing {
  /** Seconds between checks. */
  period: number;
  /** Seconds from time 0 to the first check that sees the container. */
  phase: number;
}

const checkAt = (t: number, { period, phase }: Timing): number => Math.round((t - phase) / period);

/** The recorded calls and changes of the folder that were not made on purpose. */
function recordedOf({ events }: LogRotationCase, timing: Timing): Seen[] {
  return events.flatMap(({ t, did, call, files = [] }, index) => {
    if (did !== undefined || isMade(events, index)) return [];
    return [{ check: checkAt(t, timing), ...(call !== undefined && { call }), files }];
  });
}

/** True if this is the look at the folder after something was done to it, or the first one. */
function isMade(events: readonly RecordedEvent[], index: number): boolean {
  return events[index]?.call === undefined && (index === 0 || events[index - 1]?.did !== undefined);
}

class LogWorld {
  private readonly clock = new FakeClock();
  private readonly folder: string;
  private readonly rotation: LogRotationCase;
  private readonly timing: Timing;
  private readonly seen: Seen[] = [];
  /** Placeholders by stamp. */
  private readonly stamps = new Map<string, string>();
  private areStampsLocalTime = true;
  private isReopenFailing = false;
  /** Recorded time of the clock's start. */
  private readonly beginning: number;
  private lastFiles: string[] = [];

  constructor(folder: string, rotation: LogRotationCase, timing: Timing) {
    this.folder = folder;
    this.rotation = rotation;
    this.timing = timing;
    this.beginning = timing.phase - timing.period;
  }

  async replay(settings: ConstructorParameters<typeof ContainerLogManager>[0]['settings']): Promise<Replay> {
    await mkdir(this.folder);
    const stopped = new AbortController();
    const manager = new ContainerLogManager({
      settings,
      runtime: {
        containerStatus: () =>
          Promise.resolve({ status: { logPath: join(this.folder, log) } } as Awaited<
            ReturnType<Runtime['containerStatus']>
          >),
        reopenContainerLog: () => this.reopen(),
      },
      runningContainers: () => (this.isRunning() ? [{ id: 'c1', name: 'app', podUID: 'u1' }] : []),
      clock: this.clock,
      logger: silentLogger,
    });
    const running = manager.run(stopped.signal).catch(() => undefined);
    const { events } = this.rotation;
    for (const [index, { t, did, files }] of events.entries()) {
      const isLater = did === undefined && !isMade(events, index);
      await this.passUntil(t * secondMs + (isLater ? beforeMs : -beforeMs), manager);
      if (did !== undefined) this.act(did);
      else if (isMade(events, index)) await this.make(files ?? []);
    }
    // Nothing more may happen.
    await this.passUntil(this.time() * secondMs + 2 * this.timing.period * secondMs, manager);
    stopped.abort();
    await running;
    const format = this.areStampsLocalTime ? this.rotation.stampFormat : 'no local time';
    return {
      seen: this.seen,
      finalFiles: await this.finalFiles(),
      ...(format !== undefined && { stampFormat: format }),
    };
  }

  private time(): number {
    return this.clock.monotonic() / secondMs + this.beginning;
  }

  /** A script `exit:CODE:MS` ends its container. */
  private isRunning(): boolean {
    const endsAfterMs = Number(/^exit:\d+:(\d+)$/.exec(this.rotation.script)?.[1] ?? Infinity);
    return this.time() >= 0 && (this.time() - startedAt) * secondMs < endsAfterMs;
  }

  private async passUntil(ms: number, manager: ContainerLogManager): Promise<void> {
    for (;;) {
      const left = ms - Math.round(this.time() * secondMs);
      if (left <= 0) return;
      await this.clock.advance(Math.min(left, this.clock.untilNextTimerMs));
      await manager.settled();
      const files = await this.listing();
      if (files.join() !== this.lastFiles.join()) this.seen.push({ check: this.check(), files });
      this.lastFiles = files;
    }
  }

  private check(): number {
    return checkAt(this.time(), this.timing);
  }

  private async reopen(): Promise<object> {
    const names = (await readdir(this.folder)).sort();
    this.noteStamps(names);
    this.seen.push({ check: this.check(), call: 'ReopenContainerLog', files: names.map((name) => this.shown(name)) });
    if (this.isReopenFailing) throw new Error('the log cannot be reopened');
    await (
      await open(join(this.folder, log), constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o644)
    ).close();
    return {};
  }

  private act(did: string): void {
    if (did.startsWith('ReopenContainerLog')) this.isReopenFailing = !did.endsWith('works again');
  }

  /** Makes the folder look as it was recorded after something was done to it. */
  private async make(files: readonly string[]): Promise<void> {
    const wanted = new Map(files.map((file) => file.split(' ') as [string, string | undefined]));
    const named = new Map([...wanted].map(([name, size]) => [this.actual(name), size]));
    for (const name of await readdir(this.folder)) if (!named.has(name)) await rm(join(this.folder, name));
    for (const [name, size] of named) await this.makeFile(join(this.folder, name), Number(size ?? 0));
    this.lastFiles = await this.listing();
  }

  private async makeFile(path: string, size: number): Promise<void> {
    const present = await stat(path).catch(() => undefined);
    if (path.endsWith('.gz')) {
      if (present === undefined) await writeFile(path, gzipSync('older lines\n'));
    } else if (present === undefined || present.size > size) await writeFile(path, 'x'.repeat(size));
    else await appendFile(path, 'x'.repeat(size - present.size));
    if (present === undefined) await chmod(path, 0o644);
  }

  private async listing(): Promise<string[]> {
    const names = (await readdir(this.folder)).sort();
    this.noteStamps(names);
    const line = async (name: string): Promise<string> =>
      name.endsWith('.gz') ? this.shown(name) : `${this.shown(name)} ${(await stat(join(this.folder, name))).size}`;
    return Promise.all(names.map(line));
  }

  private async finalFiles(): Promise<FinalFile[]> {
    const names = (await readdir(this.folder)).sort();
    const file = async (name: string): Promise<FinalFile> => {
      const path = join(this.folder, name);
      const bytes = await readFile(path);
      return {
        name: this.shown(name),
        mode: ((await stat(path)).mode & 0o777).toString(8),
        plainBytes: (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).length,
      };
    };
    return Promise.all(names.map(file));
  }

  /** A stamp for a placeholder of a file that was put there. */
  private actual(name: string): string {
    return name.replace(/\{stamp(\d+)\}/, (placeholder, number: string) => {
      const known = [...this.stamps].find(([, shown]) => shown === placeholder)?.[0];
      const stamp = known ?? `20200101-${number.padStart(6, '0')}`;
      this.stamps.set(stamp, placeholder);
      return stamp;
    });
  }

  private shown(name: string): string {
    return name.replace(stampPattern, (stamp) => this.stamps.get(stamp) ?? stamp);
  }

  /** Numbers the stamps of new files, and compares them with the time. */
  private noteStamps(names: readonly string[]): void {
    for (const name of names) {
      const [stamp] = stampPattern.exec(name) ?? [];
      if (stamp === undefined || this.stamps.has(stamp)) continue;
      this.stamps.set(stamp, `{stamp${this.stamps.size + 1}}`);
      const now = new Date(this.clock.now());
      const parts = [now.getMonth() + 1, now.getDate(), now.getHours(), now.getMinutes(), now.getSeconds()];
      const [month, day, hours, minutes, seconds] = parts.map((part) => String(part).padStart(2, '0'));
      this.areStampsLocalTime &&= stamp === `${now.getFullYear()}${month}${day}-${hours}${minutes}${seconds}`;
    }
  }
}

type Runtime = ConstructorParameters<typeof ContainerLogManager>[0]['runtime'];
const stampPattern = /\d{8}-\d{6}/;
