import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { errorMessage } from '../../errors.ts';

/**
 * Prints SO_PEERCRED of descriptor 3. These numbers, of SOL_SOCKET too, are those of all machines but PowerPC, SPARC,
 * MIPS and PA-RISC, which give an answer of another length.
 */
const perl = `open my $socket, '+<&=', 3 or exit 1; print join ' ', unpack 'iII', getsockopt $socket, 1, 17`;
const python = `import socket, struct
print(*struct.unpack('=iII', socket.socket(fileno=3).getsockopt(1, 17, 12)))`;
const script = `
command -v perl >/dev/null && exec perl -e "$0"
command -v python3 >/dev/null && exec python3 -ISc "$1"
exit 127`;

/** Milliseconds. perl takes 3 to 5 on a quiet machine, python3 60. */
const limitMs = 1000;
/** Further clients stay unknown. Each program takes 5 to 10 MB. */
const maxAtOnce = 8;

/**
 * Reads the process, user and group that opened the other end of a Unix socket, as the kernel recorded them when it
 * connected. The client cannot change them.
 *
 * Node has no call for them. perl or python3 has, and inherits the socket.
 */
export class PeerCredentials {
  private running = 0;
  private readonly path: string | undefined;

  /** `path` has the folders of the programs. */
  constructor(path = process.env['PATH']) {
    this.path = path;
  }

  /** Resolves to a text such as `pid 12 uid 0 gid 0`, or to the reason why they are unknown. Never rejects. */
  async of(socket: Socket): Promise<string> {
    if (this.running >= maxAtOnce) return 'unknown: too many requests at once';
    this.running++;
    try {
      return await credentialsText(socket, this.path);
    } catch (error) {
      return `unknown: ${errorMessage(error)}`;
    } finally {
      this.running--;
    }
  }
}

/** Starts the program before it returns, because a closed socket's descriptor may become that of another client. */
async function credentialsText(socket: Socket, path: string | undefined): Promise<string> {
  const descriptor = descriptorOf(socket);
  if (descriptor === undefined) return 'unknown: it disconnected';
  const child = spawn('sh', ['-c', script, perl, python], {
    // Its number alone, because Node stops reading a socket that it passes on. As stdin it would become blocking.
    stdio: ['ignore', 'pipe', 'ignore', descriptor],
    env: { PATH: path },
    cwd: '/',
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code === null) return `unknown: not read within ${limitMs / 1000} s`;
  if (code === 127) return 'unknown: neither perl nor python3 is installed';
  const [, pid, uid, gid] = /^(\d+) (\d+) (\d+)\s*$/.exec(output) ?? [];
  if (pid === undefined) return 'unknown: the kernel did not report it';
  // A process of another PID namespace has none here.
  return `${pid === '0' ? '' : `pid ${pid} `}uid ${uid} gid ${gid}`;
}

/** Node does not document this number. Returns undefined if the socket is closed. */
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as { _handle?: { fd?: unknown } | null };
  const descriptor = handle?.fd;
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : undefined;
}
