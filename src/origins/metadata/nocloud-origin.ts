import { mkdtemp, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { HTTPFailure } from '../../engine/config/http/http-failure.ts';
import type { FetchNotes, KnownBody, ManifestOrigin, OriginAnswer } from '../../engine/config/http/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { readRegularFile } from '../../engine/host/regular-file.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { manifestsOf, noManifest } from './user-data.ts';

/** Runs a program of this machine. Rejects if it fails. */
export type RunProgram = (file: string, args: readonly string[]) => Promise<unknown>;

interface Options {
  /** `nocloud://`, or `nocloud:///FOLDER`. */
  url: URL;
  /** Folders of a seed in the order of cloud-init. Defaults to its own. */
  seedFolders?: readonly string[];
  /** Folder of links from the labels of file systems. */
  labelFolder?: string;
  run?: RunProgram;
}

const seedFoldersOfCloudInit = ['/var/lib/cloud/seed/nocloud', '/var/lib/cloud/seed/nocloud-net'];
const labels = ['cidata', 'CIDATA'];

/**
 * The user data of cloud-init's NoCloud: in a seed folder, else on a disk with the label `cidata`. A disk is mounted
 * for one read only, and read once in the life of the agent.
 */
export class NoCloudOrigin implements ManifestOrigin {
  readonly where: string;
  private readonly options: Options;
  /** The disk that was read, with its last change. */
  private readDisk: string | undefined;

  constructor(options: Options) {
    this.options = options;
    this.where = options.url.href;
  }

  async fetch(known: KnownBody | undefined, notes: FetchNotes): Promise<OriginAnswer> {
    const userData = await this.read(known !== undefined);
    if (userData === undefined) return { validators: {} };
    const body = manifestsOf(userData);
    notes.bodyBytes = body.length;
    return { validators: {}, ...(sha256(body) !== known?.digest && { news: { body } }) };
  }

  trust(): undefined {
    return undefined;
  }

  /** Returns undefined if the disk was read already. */
  private async read(isKnown: boolean): Promise<Buffer | undefined> {
    const { url, seedFolders = seedFoldersOfCloudInit } = this.options;
    const folders = url.pathname === '' || url.pathname === '/' ? seedFolders : [decodeURIComponent(url.pathname)];
    for (const folder of folders) {
      const found = await readIfThere(join(folder, 'user-data'));
      if (found !== undefined) return found;
    }
    const { labelFolder = '/dev/disk/by-label' } = this.options;
    for (const label of folders === seedFolders ? labels : []) {
      const disk = join(labelFolder, label);
      const found = await stat(disk).catch(() => undefined);
      if (found === undefined) continue;
      const identity = `${disk} ${found.rdev} ${found.ctimeMs}`;
      if (isKnown && identity === this.readDisk) return undefined;
      const userData = await this.readFrom(disk);
      this.readDisk = identity;
      return userData;
    }
    const hint = `It is looked for in ${folders.join(', ')}, and on a disk with the label cidata.`;
    throw noManifest('this machine has no user-data', hint);
  }

  private async readFrom(disk: string): Promise<Buffer> {
    const { run = runProgram } = this.options;
    const folder = await mkdtemp('/run/kubelet-ts-nocloud-');
    try {
      const options = 'ro,nosuid,nodev,noexec';
      await run('mount', ['-t', 'iso9660,vfat', '-o', options, disk, folder]).catch((error: unknown) => {
        const hint = 'It must be an ISO 9660 or VFAT file system.';
        throw new HTTPFailure('refused', `${disk} cannot be mounted: ${reasonOf(error)}`, hint, { cause: error });
      });
      try {
        const userData = await readIfThere(join(folder, 'user-data'));
        if (userData !== undefined) return userData;
        throw noManifest(`${disk} has no file user-data`, 'Write the manifests into it.');
      } finally {
        await run('umount', [folder]);
      }
    } finally {
      await rmdir(folder).catch(() => undefined);
    }
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return Buffer.from(await readRegularFile(path, maxManifestBytes));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw new HTTPFailure('refused', `${path} cannot be read: ${errorMessage(error)}`, 'Check the file.', {
      cause: error,
    });
  }
}

/** The last line of its error output, else its message. */
function reasonOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return output === '' ? errorMessage(error) : (output.split('\n').at(-1) ?? '');
}

const programTimeoutMs = 30_000;

const runProgram: RunProgram = async (file, args) => {
  const { execa } = await import('execa');
  return execa(file, args, { timeout: programTimeoutMs, stdin: 'ignore', maxBuffer: 64 * 1024 });
};
