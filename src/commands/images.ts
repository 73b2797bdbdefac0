import { type Command, InvalidArgumentError, Option } from 'commander';
import { addRuntimeOptions, collect, wholeNumber } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';
import type { BundleFlags } from './images/bundle-images.ts';
import type { ListFlags } from './images/list-images.ts';
import type { ImageFlags } from './images/open-images.ts';
import type { PruneFlags } from './images/prune-images.ts';
import type { RemoveFlags } from './images/remove-images.ts';
import type { PullFlags } from './images/pull-images.ts';

export function register(program: Command, deps: CommandDeps): void {
  const images = program
    .command('images')
    .description('List, pull, load, bundle, tag, repair and remove images')
    .addHelpText('after', examples);
  addTransferCommands(images, deps);
  addRuntimeOptions(images.command('list').alias('ls'))
    .description('List the images in the container runtime')
    .addOption(new Option('-o, --output <format>', 'output format').choices(['table', 'wide', 'json']).default('table'))
    .option('-q, --quiet', 'print only image ids')
    .addOption(new Option('-a, --all', 'no effect: all images are listed').hideHelp())
    .action(async (flags: ListFlags) => {
      await (await import('./images/list-images.ts')).listImages(flags, deps);
    });
  addRuntimeOptions(images.command('tag <image> <name>'))
    .description('Add a tag to an image')
    .action(async (image: string, name: string, flags: ImageFlags) => {
      await (await import('./images/tag-image.ts')).tagImage(image, name, flags, deps);
    });
  addRuntimeOptions(images.command('rm <images...>').alias('rmi'))
    .description('Remove images by name or id')
    .option('-f, --force', 'remove them even if a declared pod or a container uses them', false)
    .action(async (names: string[], flags: RemoveFlags) => {
      await (await import('./images/remove-images.ts')).removeImages(names, flags, deps);
    });
  addRuntimeOptions(images.command('prune'))
    .description('Remove the images that no container and no declared pod uses')
    .option('--dry-run', 'only list them', false)
    .option('-y, --yes', 'remove them without asking', false)
    .action(async (flags: PruneFlags) => {
      await (await import('./images/prune-images.ts')).pruneImages(flags, deps);
    });
}

/** The commands that bring images to a machine or archive. */
function addTransferCommands(images: Command, deps: CommandDeps): void {
  addRuntimeOptions(images.command('load <files...>'))
    .description('Load OCI or Docker image archives into the container runtime. - is stdin')
    .action(async (files: string[], flags: ImageFlags) => {
      await (await import('./images/load-images.ts')).loadImages(files, flags, deps);
    });
  addRuntimeOptions(images.command('repair [images...]'))
    .description('Check images for damage, and repair them')
    .addHelpText('after', repairHelp)
    .action(async (names: string[], flags: ImageFlags) => {
      await (await import('./images/repair-images.ts')).repairImages(names, flags, deps);
    });
  addRuntimeOptions(images.command('pull [images...]'))
    .description('Pull images into the container runtime')
    .option('-f, --filename <manifest>', 'pull the images of this file or folder, - for stdin; repeatable', collect)
    .option('--parallel <count>', 'number of images to pull in parallel', positive, 3)
    .option('--image-credential-provider-config <path>', 'file that lists the programs for registry credentials')
    .option('--image-credential-provider-bin-dir <path>', 'folder of these programs')
    .action(async (names: string[], flags: PullFlags) => {
      await (await import('./images/pull-images.ts')).pullImages(names, flags, deps);
    });
  addRuntimeOptions(images.command('bundle [manifests...]'))
    .description('Write all images of manifests to one archive, with a checksum file')
    .requiredOption('-o, --output <file>', 'archive to write, such as app.tar')
    .option(
      '--with-programs',
      'also write kubelet-ts, containerd, runc and CNI plugins of this machine next to it',
      false,
    )
    .option('--pause', 'include the pause image, for a runtime that kubelet-ts does not manage', false)
    .action(async (manifests: string[], flags: BundleFlags) => {
      await (await import('./images/bundle-images.ts')).bundleImages(manifests, flags, deps);
    });
}

function positive(text: string): number {
  const count = wholeNumber(text);
  if (count > 0) return count;
  throw new InvalidArgumentError('Write a whole number of at least 1.');
}

const repairHelp = `
Reads all images of the managed containerd and removes damaged content. Loads the images that are then missing from the
archives in ROOT_DIR/images; pull or load others again. Restores the unpacked files of the named images, or of all, in
place: pods keep running.

Examples:
  kubelet-ts images repair
  kubelet-ts images repair localhost/app:1`;

const examples = `
Examples:
  kubelet-ts images list -o wide
  kubelet-ts images pull -f pods/             pulls the images of all manifests in pods/
  kubelet-ts images bundle -o app.tar pods/   writes them into app.tar, and its checksum into app.tar.sha256
  kubelet-ts images bundle -o all.tar         writes the images of all pods of the running agent
  kubelet-ts images bundle --with-programs -o box/app.tar pods/   for a bare machine: box/kubelet-ts install-bundle
  kubelet-ts images load app.tar              loads an archive of docker save, podman save or images bundle
  docker save localhost/app:1 | kubelet-ts images load -
  kubelet-ts images tag localhost/app:1 localhost/app:2
  kubelet-ts images rm localhost/app:1        removes this name, or the image if it has no other name, unless a pod uses it
  kubelet-ts images repair                    checks all images, such as after a power cut
  kubelet-ts images prune --dry-run           lists the images that nothing uses

load and pull start the containerd of kubelet-ts if no container runtime runs. It keeps running.
kubelet-ts run loads the archives in <root-dir>/images/ when it starts.`;
