import { PassThrough, Readable, Writable } from 'node:stream';
import { execInContainer } from '../../cri/streaming/exec-in-container.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { UserError } from '../../errors.ts';
import { visibleLines } from '../../text/visible-text.ts';
import { archiveLocalTree } from './archive-local-tree.ts';
import type { CopyReport } from './copy-report.ts';
import { extractArchive } from './extract-archive.ts';
import type { Source, Target } from './parse-endpoints.ts';

export interface CopiedContainer {
  runtime: RuntimeService;
  id: string;
  name: string;
}

const maxErrorBytes = 4096;

/** Copies out of a container with its `tar`. Rejects with a `UserError` if `tar` fails or sends other files. */
export async function copyFromContainer(
  container: CopiedContainer,
  source: Source,
  target: Target,
  report: CopyReport,
): Promise<void> {
  const broken = new AbortController();
  const stdout = new PassThrough();
  const extracted = extractArchive(stdout, source, target, report).catch((error: unknown) => {
    broken.abort(error);
    stdout.destroy();
  });
  const what = source.name === undefined ? '.' : `./${source.name}`;
  try {
    await runTar(container, ['cf', '-', '-C', source.folder, what], { stdout, signal: broken.signal });
  } finally {
    stdout.end();
    await extracted;
  }
  broken.signal.throwIfAborted();
}

/** Copies into a container with its `tar`. Root owns the copied files. */
export async function copyToContainer(
  container: CopiedContainer,
  source: Source,
  target: Target,
  report: CopyReport,
): Promise<void> {
  const broken = new AbortController();
  const stdin = Readable.from(archiveLocalTree(source, target.name, report), { objectMode: false });
  stdin.once('error', (error) => {
    broken.abort(error);
  });
  try {
    await runTar(container, ['xf', '-', '-C', target.folder], { stdin, stdout: discarded(), signal: broken.signal });
  } finally {
    stdin.destroy();
  }
}

/** True if the path is a folder in the container. */
export async function isFolderIn({ runtime, id }: CopiedContainer, path: string): Promise<boolean> {
  const command = ['test', '-d', path];
  try {
    const streams = { stdout: discarded(), stderr: discarded() };
    return (await execInContainer(runtime, { containerID: id, command, ...streams })) === 0;
  } catch (error) {
    // An image may have tar but not test.
    if (error instanceof UserError && error.exitCode === 127) return false;
    throw error;
  }
}

async function runTar(
  { runtime, id, name }: CopiedContainer,
  args: readonly string[],
  streams: { stdin?: Readable; stdout: Writable; signal: AbortSignal },
): Promise<void> {
  const stderr = new LastBytes();
  const exitCode = await execInContainer(runtime, {
    containerID: id,
    command: ['tar', ...args],
    ...streams,
    stderr,
  }).catch((error: unknown) => {
    if (!(error instanceof UserError) || error.exitCode !== 127) throw error;
    throw new UserError(`container ${name} has no tar, which cp needs`, {
      hint: 'Copy through a volume, or use an image with tar.',
      cause: error,
    });
  });
  if (exitCode !== 0) throw new UserError(`tar in container ${name} failed with exit code ${exitCode}${stderr.text()}`);
}

const discarded = (): Writable =>
  new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });

/** Keeps the last bytes of an output of any length. */
class LastBytes extends Writable {
  private kept: Buffer = Buffer.alloc(0);

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.kept = Buffer.concat([this.kept, chunk]).subarray(-maxErrorBytes);
    done();
  }

  text(): string {
    const text = visibleLines(this.kept.toString()).trim();
    return text === '' ? '' : `: ${text}`;
  }
}
