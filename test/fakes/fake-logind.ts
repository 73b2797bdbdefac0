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
 * logind as far as shutdowns go, on a message bus of its own: real D-Bus on a real socket. Locks are taken with a
 * program of its own in the place of systemd-inhibit, which holds them in the same way: until its command ended, or it
 * was killed.
 */
export class FakeLogind {
  readonly socketPath: string;
  readonly configFolder: string;
  readonly inhibitProgram: string;
  /** `locked` with what was asked for, `unlocked`, `reloaded`, as they happen. */
  readonly journal = new Journal<string>();
  /** How long it waits for locks; read from its configuration when it is told to. */
  inhibitDelaySeconds = 30;
  /** Other configuration comes after ours. */
  ignoresConfiguration = false;
  /** It grants no lock. */
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

  /** Begins a shutdown, or calls it off. */
  prepareForShutdown(isPreparing: boolean): void {
    this.isPreparingForShutdown = isPreparing;
    this.sendSignal(isPreparing);
  }

  /** The signal alone, whatever is so. */
  sendSignal(isPreparing: boolean): void {
    this.#bus?.sendSignal(path, managerInterface, 'PrepareForShutdown', 'b', [isPreparing]);
  }

  /** As `systemd-inhibit` is killed. */
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

  /** All connections are lost; locks are not. */
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

/** Its lock is its connection. */
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
