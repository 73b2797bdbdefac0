import type { Image } from '../../cri/types.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import type { CommandDeps } from '../io/deps.ts';
import { formatTable } from '../../text/format-table.ts';
import { jsonText } from '../io/json-text.ts';
import type { ImageFlags } from './open-images.ts';

export interface ListFlags extends ImageFlags {
  output: 'table' | 'wide' | 'json';
  quiet?: boolean;
}

/** Prints the images of the runtime. */
export async function listImages(flags: ListFlags, deps: CommandDeps): Promise<void> {
  const { images } = await withRuntime(deps.connect(flags), (connection) => connection.images.listImages({}));
  if (flags.quiet === true) {
    deps.stdout.write([...new Set(images.map(({ id }) => `${shortID(id)}\n`))].join(''));
    return;
  }
  deps.stdout.write(flags.output === 'json' ? jsonText(imageList(images), 2) : await imageTable(images, flags.output));
}

/** A row for each name of an image. `wide` adds digest and pin. */
export function imageTable(images: readonly Image[], output: 'table' | 'wide'): Promise<string> {
  const isWide = output === 'wide';
  const header = ['IMAGE', 'IMAGE ID', 'SIZE', ...(isWide ? ['PINNED', 'DIGEST'] : [])];
  const rows = images.flatMap((image) =>
    namesOf(image).map((name) => [
      name,
      shortID(image.id),
      sizeText(image.size),
      ...(isWide ? [image.pinned ? 'yes' : 'no', digestOf(image)] : []),
    ]),
  );
  return formatTable([header, ...rows.sort()]);
}

/** The list as plain JSON, sizes in bytes. */
export function imageList(images: readonly Image[]): object {
  const items = images.map(({ id, repoTags, repoDigests, size, pinned }) => ({
    id,
    repoTags,
    repoDigests,
    size: Number(size),
    pinned,
  }));
  return { images: items.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

const namesOf = ({ repoTags, repoDigests }: Image): readonly string[] =>
  repoTags.length > 0 ? repoTags : repoDigests.slice(0, 1);

const digestOf = ({ repoDigests }: Image): string => repoDigests[0]?.replace(/^.*@/, '') ?? '';

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
