import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Journal } from './journal.ts';

/**
 * Receives datagrams together with the process that the kernel names as their sender. Python has such sockets, Node
 * does not.
 */
const receiver = `
import json, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print(json.dumps({'pid': 0, 'text': 'bound'}), flush=True)
while True:
  text, parts, _, _ = s.recvmsg(65536, 4096)
  pid = 0
  for _, kind, data in parts:
    if kind == socket.SCM_CREDENTIALS: pid = struct.unpack('3i', data[:12])[0]
    # Closed, so that systemd-notify sees that its datagrams have been read.
    if kind == socket.SCM_RIGHTS: [os.close(fd) for fd in struct.unpack('%di' % (len(data) // 4), data)]
  if text != b'BARRIER=1': print(json.dumps({'pid': pid, 'text': text.decode()}), flush=True)
`;

interface Notification {
  /** The process that the kernel names as the sender. */
  pid: number;
  /** Its lines, joined by spaces. */
  text: string;
}

/** A service manager's socket, to which systemd-notify sends. It is closed when the test ends. */
export class NotifySocket {
  readonly journal = new Journal<Notification>();
  readonly path: string;
  private readonly child: ChildProcess;

  private constructor(path: string) {
    this.path = path;
    const child = spawn('python3', ['-c', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { pid, text } = JSON.parse(line) as Notification;
      this.journal.add({ pid, text: text.trim().replaceAll('\n', ' ') });
    });
    this.child = child;
  }

  static async open(): Promise<NotifySocket> {
    const socket = new NotifySocket(join(await temporaryFolder(), 'notify'));
    onTestFinished(() => void socket.child.kill('SIGKILL'));
    await socket.journal.next(({ text }) => text === 'bound');
    return socket;
  }
}
