import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { freePorts } from '../e2e/free-ports.ts';

/** Where QEMU emulates the processor, all takes ten to fifty times as long as on the machine itself. */
const bootDeadlineMs = 600_000;
const commandDeadlineMs = 600_000;
const pauseMs = 1000;

export interface CommandResult {
  code: number | undefined;
  stdout: string;
  stderr: string;
}

/** A Debian with systemd and cgroup v2 in QEMU, on a disk of its own. Its only network is ssh from this machine. */
export class Machine {
  readonly #folder: string;
  /** What scripts/fetch-machine made. */
  readonly #made: string;
  readonly #port: number;
  #qemu: ChildProcess | undefined;
  #ended: Promise<unknown> | undefined;

  private constructor(folder: string, made: string, port: number) {
    this.#folder = folder;
    this.#made = made;
    this.#port = port;
  }

  /** Its files are in `folder`. It finds the files of the folder `payload` in /payload. */
  static async create({ made, payload, folder }: { made: string; payload: string; folder: string }): Promise<Machine> {
    const [port = 0] = await freePorts(1);
    await execa('mkfs.ext4', ['-q', '-F', '-d', payload, join(folder, 'payload.img'), '200M']);
    const base = join(made, 'disk.img');
    await execa('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', base, '-F', 'raw', join(folder, 'disk.qcow2')]);
    return new Machine(folder, made, port);
  }

  /** Switches it on. Resolves when it takes commands; its services may still start. */
  async boot(...flags: readonly string[]): Promise<void> {
    const kernel = 'root=/dev/vda rw console=ttyS0 panic=5 quiet mitigations=off no5lvl';
    const words = [
      ...['-accel', 'tcg,thread=multi', '-cpu', 'Nehalem,-svm', '-smp', '2', '-m', '2048'],
      ...['-display', 'none', '-monitor', 'none', '-serial', `file:${join(this.#folder, 'console.log')}`],
      ...['-qmp', `unix:${join(this.#folder, 'qmp')},server=on,wait=off`],
      ...['-kernel', join(this.#made, 'vmlinuz'), '-initrd', join(this.#made, 'initrd.img'), '-append', kernel],
      ...['-drive', `file=${join(this.#folder, 'disk.qcow2')},if=virtio,format=qcow2`],
      ...['-drive', `file=${join(this.#folder, 'payload.img')},if=virtio,format=raw,readonly=on`],
      ...['-nic', `user,restrict=on,hostfwd=tcp:127.0.0.1:${this.#port}-:22,model=virtio-net-pci`],
    ];
    // An interrupted run leaves no machine.
    const mortal = ['--pdeathsig', 'KILL', 'qemu-system-x86_64'];
    this.#qemu = spawn('setpriv', [...mortal, ...words, ...flags], { stdio: ['ignore', 'ignore', 'inherit'] });
    this.#ended = once(this.#qemu, 'exit');
    await this.#answers();
    await this.run('mkdir -p /payload && mount -o ro /dev/vdb /payload');
  }

  /** Resolves when it has booted again and takes commands. */
  async reboot(): Promise<void> {
    const bootID = 'cat /proc/sys/kernel/random/boot_id';
    const before = await this.run(bootID);
    await this.try('systemctl reboot');
    for (;;) {
      await this.#answers();
      const { code, stdout } = await this.try(bootID);
      if (code === 0 && stdout !== before) return;
      await pause();
    }
  }

  async #answers(): Promise<void> {
    const until = Date.now() + bootDeadlineMs;
    while ((await this.try('true', 30_000)).code !== 0) {
      if (Date.now() > until || this.#qemu?.exitCode !== null) {
        throw new Error(`the machine does not answer: ${await this.#console()}`);
      }
      await pause();
    }
  }

  /** What a command of root printed, without the last end of line. Throws if it fails. */
  async run(command: string): Promise<string> {
    const { code, stdout, stderr } = await this.try(command);
    if (code !== 0) throw new Error(`${command}: exit code ${code}: ${stderr}${stdout}`);
    return stdout.trimEnd();
  }

  async try(command: string, timeout = commandDeadlineMs): Promise<CommandResult> {
    const options = [
      ...['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ConnectTimeout=20', 'LogLevel=ERROR'],
      // One connection for all commands: a handshake takes seconds.
      ...['ControlMaster=auto', `ControlPath=${join(this.#folder, 'ssh')}`, 'ControlPersist=60'],
      ...['ServerAliveInterval=60'],
    ].flatMap((option) => ['-o', option]);
    const where = ['-i', join(this.#made, 'id'), '-p', String(this.#port), 'root@127.0.0.1'];
    const { exitCode, stdout, stderr } = await execa('ssh', [...options, ...where, command], {
      reject: false,
      stdin: 'ignore',
      timeout,
    });
    return { code: exitCode, stdout: stdout, stderr: stderr };
  }

  /** Runs a shell's condition again and again until it holds. */
  async until(condition: string, deadlineS = 600): Promise<void> {
    const loop = `until ${condition}; do [ $SECONDS -lt ${deadlineS} ] || exit 1; sleep 1; done`;
    const { code } = await this.try(`bash -c '${loop.replaceAll("'", `'\\''`)}'`, (deadlineS + 60) * 1000);
    if (code !== 0) throw new Error(`in ${deadlineS} s it did not become so: ${condition}`);
  }

  /** The end of its journal, or of its console if it takes no commands. */
  async lastWords(): Promise<string> {
    const { code, stdout } = await this.try('journalctl --no-pager --output short-precise --lines 100', 60_000);
    return code === 0 ? stdout : this.#console();
  }

  async #console(): Promise<string> {
    return (await readFile(join(this.#folder, 'console.log'), 'utf8')).slice(-2000);
  }

  /** Writes a file whose folder exists. The agent sees it whole, because all is one file system. */
  async write(path: string, content: string): Promise<void> {
    const base64 = Buffer.from(content).toString('base64');
    await this.run(`echo ${base64} | base64 -d > /root/part && mv /root/part ${path}`);
  }

  /** As when somebody pulls the plug. Does nothing if it is off. */
  async cutPower(): Promise<void> {
    if (this.#qemu === undefined) return;
    this.#qemu.kill('SIGKILL');
    await this.#off();
  }

  /** As when somebody presses the button; resolves when the machine is off. */
  async powerOff(): Promise<void> {
    await this.try('systemctl poweroff');
    await this.#off();
  }

  async #off(): Promise<void> {
    await this.#ended;
    this.#qemu = undefined;
    await rm(join(this.#folder, 'ssh'), { force: true });
  }
}

function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done, pauseMs));
}
