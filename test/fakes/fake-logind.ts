import { createBroker, createClient, type DBusBroker, type MessageBus } from 'dbus-native';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Journal } from './journal.ts';

const path = '/org/freedesktop/login1';
const managerInterface = 'org.freedesktop.login1.Manager';
const dropIn = '99-kubelet.conf';

/**
 * The parts of logind that shutdowns need, on a separate message bus: real D-Bus on a real socket. A program that
 * replaces systemd-inhibit acquires the locks, and like systemd-inhibit holds them until its command exits or it is
 * killed.
 */
export class FakeLogind {
  readonly socketPath: string;
  readonly configFolder: string;
  readonly inhibitProgram: string;
  /** `locked` with the requested locks, `unlocked`, and `reloaded`, in the order in which they happen. */
  readonly journal = new Journal<string>();
  /** How long it waits for locks. Read from its configuration when it is reloaded. */
  inhibitDelaySeconds = 30;
  /** If true, other configuration overrides ours. */
  ignoresConfiguration = false;
  /** If true, it grants no locks. */
  refusesLocks = false;
  isPreparingForShutdown = false;
  readonly #locks = new Set<Socket>();
  readonly #lockServer: Server;
  #broker: DBusBroker | undefined;
  #bus: MessageBus | undefined;

  private constructor(folder: string) {
    this.socketPath = join(folder, 'bus');
    this.configFolder = join(folder, 'logind.conf.d');
    this.inhibitProgram = join(folder, 'systemd-inhibit');
    this.#lockServer = createServer((socket) => {
      this.#lock(socket);
    });
  }

  static async start(folder: string): Promise<FakeLogind> {
    const logind = new FakeLogind(folder);
    await writeFile(logind.inhibitProgram, inhibitProgram(join(folder, 'locks')));
    await chmod(logind.inhibitProgram, 0o755);
    logind.#lockServer.listen(join(folder, 'locks'));
    await once(logind.#lockServer, 'listening');
    await logind.startBus();
    return logind;
  }

  get locks(): number {
    return this.#locks.size;
  }

  /** Announces a shutdown, or cancels it. */
  prepareForShutdown(isPreparing: boolean): void {
    this.isPreparingForShutdown = isPreparing;
    this.sendSignal(isPreparing);
  }

  /** Only sends the signal, whatever the state is. */
  sendSignal(isPreparing: boolean): void {
    this.#bus?.sendSignal(path, managerInterface, 'PrepareForShutdown', 'b', [isPreparing]);
  }

  /** Kills the lock holders, as if `systemd-inhibit` was killed. */
  dropLocks(): void {
    for (const socket of this.#locks) socket.destroy();
  }

  async startBus(): Promise<void> {
    const broker = createBroker();
    await new Promise<void>((resolve, reject) => {
      broker.listen({ socket: this.socketPath }, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    this.#broker = broker;
    await this.#joinBus();
  }

  /** All connections break, but locks stay. */
  stopBus(): void {
    this.#bus?.connection.end();
    this.#broker?.close();
  }

  stop(): void {
    this.stopBus();
    this.dropLocks();
    this.#lockServer.close();
  }

  async #joinBus(): Promise<void> {
    const bus = createClient({ busAddress: `unix:path=${this.socketPath}`, plainValues: true });
    this.#bus = bus;
    const seconds = (): number => this.inhibitDelaySeconds;
    const isPreparing = (): boolean => this.isPreparingForShutdown;
    const properties = {
      get InhibitDelayMaxUSec(): number {
        return seconds() * 1e6;
      },
      get PreparingForShutdown(): boolean {
        return isPreparing();
      },
    };
    bus.exportInterface(properties, path, {
      name: managerInterface,
      properties: { InhibitDelayMaxUSec: 't', PreparingForShutdown: 'b' },
    });
    bus.setMethodCallHandler('/org/freedesktop/systemd1', 'org.freedesktop.systemd1.Manager', 'KillUnit', [
      async (unit: string, who: string, signal: number): Promise<null> => {
        this.journal.add(`killed ${unit} ${who} ${signal}`);
        await this.#readConfiguration();
        return null;
      },
      '',
    ]);
    for (const name of ['org.freedesktop.systemd1', 'org.freedesktop.login1']) await bus.requestName(name, 0);
  }

  async #readConfiguration(): Promise<void> {
    const text = await readFile(join(this.configFolder, dropIn), 'utf8');
    const [, seconds] = /^\[Login\]\nInhibitDelayMaxSec=(\d+)$/m.exec(text) ?? [];
    if (seconds !== undefined && !this.ignoresConfiguration) this.inhibitDelaySeconds = Number(seconds);
  }

  #lock(socket: Socket): void {
    socket.on('error', () => undefined);
    createInterface({ input: socket }).once('line', (line) => {
      if (this.refusesLocks) {
        socket.end('Failed to inhibit: Access denied\n');
        return;
      }
      this.#locks.add(socket);
      socket.write('\n');
      this.journal.add(`locked ${line}`);
    });
    socket.on('close', () => {
      if (this.#locks.delete(socket)) this.journal.add('unlocked');
    });
  }
}

/** Its connection is its lock. */
const inhibitProgram = (locks: string): string => `#!${process.execPath}
const { spawn } = require('node:child_process');
const words = process.argv.slice(2);
const command = words.findIndex((word) => !word.startsWith('--'));
const socket = require('node:net').connect(${JSON.stringify(locks)}, () => {
  socket.write(words.slice(0, command).join(' ') + '\\n');
});
socket.once('data', (answer) => {
  if (String(answer) !== '\\n') {
    process.stderr.write(answer);
    process.exit(1);
  }
  const child = spawn(words[command], words.slice(command + 1), { stdio: 'inherit' });
  const end = () => process.exit(1);
  child.on('exit', end);
  socket.on('close', end);
});
`;
