import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { execa } from 'execa';

/** A separate mount namespace with an empty /run below which nothing has been mounted yet, as after a boot. */
export class MountNamespace {
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  /**
   * `cgroup` is the folder of a cgroup. If given, also creates a cgroup namespace with that cgroup as its root in that
   * hierarchy.
   */
  static async create(cgroup?: string): Promise<MountNamespace> {
    const script = 'mount -t tmpfs tmpfs /run && mkdir /run/netns && echo ready && exec sleep infinity';
    const unshare = ['unshare', '--mount', '--propagation', 'private', ...(cgroup === undefined ? [] : ['--cgroup'])];
    const enter = cgroup === undefined ? '' : `echo $$ > ${cgroup}/cgroup.procs && `;
    const holder = spawn('sh', ['-c', `${enter}exec "$@"`, 'sh', ...unshare, 'sh', '-c', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    return new MountNamespace(holder);
  }

  /**
   * The same, with a layer over the machine's root file system, so that programs can be installed. Changes go to
   * `layer`, a folder below /tmp that only the namespace sees and that disappears with it.
   */
  static async overRoot(layer: string): Promise<MountNamespace> {
    const namespace = await MountNamespace.create();
    const script = `
      mount -t tmpfs tmpfs $0 && cd $0 && mkdir upper work root
      mount -t overlay overlay -o lowerdir=/,upperdir=$0/upper,workdir=$0/work root
      for folder in proc sys dev tmp run; do mount --rbind /$folder root/$folder; done
      cd root && pivot_root . mnt && umount -l /mnt`;
    await namespace.run('sh', '-ec', script, layer);
    return namespace;
  }

  /**
   * The same with another root file system, a folder of this machine. From this machine it has the kernel's file
   * systems, the devices and the folder `shared`, at the same path.
   */
  static async atRoot(root: string, shared: string): Promise<MountNamespace> {
    const namespace = await MountNamespace.create();
    const script = `
      mount --bind $0 $0 && cd $0 && mkdir -p .$1
      for folder in /proc /sys /dev /run $1; do mount --rbind $folder .$folder; done
      pivot_root . mnt && umount -l /mnt`;
    await namespace.run('sh', '-ec', script, root, shared);
    return namespace;
  }

  get cgroupPath(): string {
    return `/proc/${String(this.#holder.pid)}/ns/cgroup`;
  }

  get path(): string {
    return `/proc/${String(this.#holder.pid)}/ns/mnt`;
  }

  async run(command: string, ...words: string[]): Promise<string> {
    const { stdout } = await execa('nsenter', [`--mount=${this.path}`, command, ...words]);
    return stdout;
  }

  async remove(): Promise<void> {
    const ended = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await ended;
  }
}
