import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { maxCheapBytes } from '../../engine/config/polled/manifest-origin.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { errorMessage, hasCode, isOutOfResources } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * Bounds the memory for large bodies from all servers. Bodies are kept in files until they are complete, because most
 * turn out to be too long.
 */
export class LargeBodies {
  /** The folder holds the files. It is created with the first one. */
  constructor(private readonly folder: string) {}

  /** Begins a body, which the caller must close. Rejects with an OriginFailure if no file can be created. */
  async create(): Promise<LargeBody> {
    return new LargeBody(await onDisk(this.folder, this.namelessFile()), this.folder);
  }

  /** A file that disappears with its descriptor, even if the agent is killed. */
  private async namelessFile(): Promise<FileHandle> {
    await makeFolder(this.folder, 0o700);
    const path = join(this.folder, `body-${randomUUID()}`);
    const file = await open(path, 'wx+', 0o600);
    try {
      await rm(path);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file;
  }
}

/** A body in a file. Its methods reject with an OriginFailure if the disk fails. */
export class LargeBody {
  private length = 0;

  constructor(
    private readonly file: Pick<FileHandle, 'writeFile' | 'read' | 'close'>,
    private readonly folder: string,
  ) {}

  async append(chunk: Buffer): Promise<void> {
    await onDisk(this.folder, this.file.writeFile(chunk));
    this.length += chunk.length;
  }

  async whole(): Promise<Buffer> {
    const body = Buffer.allocUnsafe(this.length);
    for (let at = 0; at < body.length;) {
      const { bytesRead } = await onDisk(this.folder, this.file.read(body, at, body.length - at, at));
      if (bytesRead === 0) throw diskFailure(this.folder, new Error(`its file ended after ${at} bytes`));
      at += bytesRead;
    }
    return body;
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

async function onDisk<T>(folder: string, action: Promise<T>): Promise<T> {
  try {
    return await action;
  } catch (error) {
    throw diskFailure(folder, error);
  }
}

function diskFailure(folder: string, error: unknown): OriginFailure {
  const message = `a body beyond ${maxCheapBytes / 1024} KiB needs the disk: ${errorMessage(error)}`;
  const [kind, hint] = isOutOfResources(error)
    ? (['no answer', 'The request is repeated automatically.'] as const)
    : (['refused', hasCode(error, 'ENOSPC', 'EDQUOT') ? `Make room in ${folder}.` : `Check ${folder}.`] as const);
  return new OriginFailure(kind, message, hint, { cause: error });
}
