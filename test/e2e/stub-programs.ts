import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder of programs that record their args and then run other programs. */
export class StubPrograms {
  private constructor(readonly folder: string) {}

  static async create(): Promise<StubPrograms> {
    return new StubPrograms(await mkdtemp('/tmp/kts-programs-'));
  }

  /** Writes a stub of this name for `program`. Returns its path. */
  async write(name: string, program: string): Promise<string> {
    const stub = join(this.folder, name);
    await writeFile(stub, `#!/bin/sh\necho "$@" >> '${stub}.mark'\nexec ${program} "$@"\n`, { mode: 0o755 });
    return stub;
  }

  /** Returns the args of all calls of a stub, one call a line. */
  calls(name: string): Promise<string> {
    return readFile(join(this.folder, `${name}.mark`), 'utf8');
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true });
  }
}
