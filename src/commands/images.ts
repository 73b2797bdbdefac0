import { resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { visible } from '../visible-text.ts';
import { createLogger } from '../node/log/create-logger.ts';
import type { CommandDeps } from './io/deps.ts';
import { findRuntimeEndpoint } from '../node/find-runtime.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { formatTable } from './io/format-table.ts';

interface ImageFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
}

export function registerImages(program: Command, deps: CommandDeps): void {
  const images = program
    .command('images')
    .description('List images, and load them from archives')
    .addHelpText('after', examples);
  addRuntimeOptions(images.command('load <files...>'))
    .description('Load OCI or Docker image archives into the container runtime')
    .action(async (files: string[], flags: ImageFlags) => {
      await loadImages(files, flags, deps);
    });
  addRuntimeOptions(images.command('list').alias('ls'))
    .description('List the images in the container runtime')
    .action(async (flags: ImageFlags) => {
      await listImages(flags, deps);
    });
}

const examples = `
Examples:
  kubelet-ts images load app.tar     loads an archive of docker save, podman save or skopeo copy
  kubelet-ts images list

kubelet-ts run loads the archives in <root-dir>/images/ at its start.`;

async function loadImages(files: readonly string[], flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const importer = await openImporter(flags);
  try {
    for (const file of files) {
      for (const name of await importer.import(resolve(file))) deps.stdout.write(`Loaded image: ${visible(name)}\n`);
    }
  } finally {
    importer.close();
  }
}

interface Importer {
  /** Resolves with the names of the images in an archive. */
  import: (file: string) => Promise<string[]>;
  close: () => void;
}

/** The CRI has no import. We import into a managed containerd; other runtimes need their own client. */
async function openImporter(flags: ImageFlags): Promise<Importer> {
  const { endpoint, managed } = await findRuntimeEndpoint({
    rootDir: resolve(flags.rootDir),
    flag: flags.containerRuntimeEndpoint,
  });
  if (managed) {
    const { ManagedContainerd } = await import('../containerd/managed-containerd.ts');
    const { logger } = await createLogger('text', 'warn');
    const containerd = new ManagedContainerd({ rootDir: resolve(flags.rootDir), clock: systemClock, logger });
    await containerd.start();
    return {
      import: (file) => containerd.importImageArchive(file),
      close: () => {
        containerd.release();
      },
    };
  }
  const [{ findContainerd }, { importImageArchive }] = await Promise.all([
    import('../containerd/find-containerd.ts'),
    import('../containerd/import-image-archive.ts'),
  ]);
  const { ctr, version } = await findContainerd();
  if (ctr === undefined || !endpoint.includes('containerd')) {
    throw new UserError(`images cannot be loaded into the runtime at ${endpoint}: the CRI has no way to`, {
      hint: 'Load them with the tools of that runtime, such as `ctr -n k8s.io images import` or `podman load`.',
    });
  }
  const address = endpoint.replace(/^unix:\/\//, '');
  return { import: (file) => importImageArchive({ ctr, ctrVersion: version, address }, file), close: () => undefined };
}

async function listImages(flags: ImageFlags, deps: CommandDeps): Promise<void> {
  const endpoint = flags.containerRuntimeEndpoint;
  const connection = await deps.connect({
    rootDir: resolve(flags.rootDir),
    ...(endpoint === undefined ? {} : { runtimeEndpoint: endpoint }),
  });
  try {
    const { images } = await connection.images.listImages({});
    const rows = images.flatMap(({ repoTags, repoDigests, id, size }) =>
      (repoTags.length > 0 ? repoTags : repoDigests.slice(0, 1)).map((name) => [name, shortID(id), sizeText(size)]),
    );
    deps.stdout.write(await formatTable([['IMAGE', 'IMAGE ID', 'SIZE'], ...rows.sort()]));
  } finally {
    connection.close();
  }
}

const shortID = (id: string): string => id.replace(/^sha256:/, '').slice(0, 13);

/** Such as `766kB` or `1.24GB`, in powers of 1000, as by `docker images`. */
export function sizeText(bytes: bigint): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let size = Number(bytes);
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : size >= 99.95 ? Math.round(size) : Number(size.toPrecision(3))}${units[unit] ?? ''}`;
}
