import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { UserError } from '../../src/errors.ts';
import { ociArchive, type ImageFile, type ImageToArchive } from '../../src/containerd/pause/oci-archive.ts';
import { computeImageArchitecture } from '../../src/containerd/pause/pause-image.ts';
import { controlPlaneImage } from './control-plane-image.ts';
import { standInImages } from './stand-in-images.ts';

/** Changes when other images are made of the same programs. */
const recipe = 1;

interface TestImage {
  /** Name of the archive in the cache folder. */
  readonly archive: string;
  /** Programs of this machine that go into it, and the Debian package that has them. */
  readonly programs: readonly string[];
  readonly debianPackage: string;
  readonly make: (files: readonly ImageFile[]) => Promise<Omit<ImageToArchive, 'architecture'>[]>;
}

const testImages: readonly TestImage[] = [
  { archive: 'busybox.tar', programs: ['/bin/busybox'], debianPackage: 'busybox-static', make: busyboxImage },
  {
    archive: 'flock.tar',
    programs: ['/bin/busybox', '/usr/bin/flock'],
    debianPackage: 'busybox-static and util-linux',
    make: async (files) => (await busyboxImage(files)).map((image) => ({ ...image, name: 'localhost/flock:1' })),
  },
  {
    archive: 'etcd.tar',
    programs: ['/usr/bin/etcd', '/usr/bin/etcdctl'],
    debianPackage: 'etcd-server and etcd-client',
    make: (files) => Promise.resolve([etcdImage(files)]),
  },
  {
    archive: 'control-plane.tar',
    programs: ['/bin/busybox', '/usr/bin/openssl'],
    debianPackage: 'busybox-static and openssl',
    make: (files) => Promise.resolve([controlPlaneImage(files)]),
  },
  {
    archive: 'stand-ins.tar',
    programs: ['/bin/busybox', '/bin/dash'],
    debianPackage: 'busybox-static and dash',
    make: async (files) =>
      standInImages([...files, ...(await busyboxLinks()).filter(({ path }) => path !== 'bin/sh'), tmp, ...accounts]),
  },
];

/**
 * Makes the archives that tests import, from programs of this machine; those that are up to date stay. `names` such as
 * `busybox` pick some. Resolves to their paths.
 */
export async function buildTestImages(cacheFolder: string, names: readonly string[] = []): Promise<string[]> {
  await mkdir(cacheFolder, { recursive: true });
  const wanted = testImages.filter(({ archive }) => names.length === 0 || names.includes(basename(archive, '.tar')));
  return Promise.all(wanted.map((image) => buildTestImage(image, cacheFolder)));
}

async function buildTestImage(image: TestImage, cacheFolder: string): Promise<string> {
  const archive = join(cacheFolder, image.archive);
  const inputs = await describeInputs(image);
  const stampFile = `${archive}.inputs`;
  const isCurrent = (await readFile(stampFile, 'utf8').catch(() => '')) === inputs;
  if (isCurrent && (await stat(archive).catch(() => undefined)) !== undefined) return archive;

  const paths = (await Promise.all(image.programs.map(withLibraries))).flat();
  const files = await Promise.all([...new Set(paths)].map(fileOf));
  const architecture = computeImageArchitecture(process.arch);
  const bytes = await ociArchive(...(await image.make(files)).map((made) => ({ architecture, ...made })));
  await writeFile(`${archive}.part`, bytes);
  await rename(`${archive}.part`, archive);
  await writeFile(stampFile, inputs);
  return archive;
}

async function describeInputs({ programs, debianPackage }: TestImage): Promise<string> {
  const described = programs.map(async (path) => {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) {
      throw new UserError(`${path} is missing`, { hint: `Install the Debian package ${debianPackage}.` });
    }
    return `${path} ${String(found.size)} ${String(found.mtimeMs)}`;
  });
  return `${String(recipe)}\n${(await Promise.all(described)).join('\n')}\n`;
}

/** A program and the shared libraries that ldd names; a static program has none, of which ldd complains. */
async function withLibraries(program: string): Promise<string[]> {
  const { stdout } = await execa('ldd', [program], { reject: false });
  const libraries = [...stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].flatMap(([, path]) => path ?? []);
  return [program, ...libraries];
}

async function fileOf(path: string): Promise<ImageFile> {
  return { path: path.slice(1), type: 'file', mode: 0o755, content: await readFile(await realpath(path)) };
}

const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const tmp: ImageFile = { path: 'tmp', type: 'directory', mode: 0o1777 };

async function busyboxImage(files: readonly ImageFile[]): Promise<Omit<ImageToArchive, 'architecture'>[]> {
  const root: ImageFile = { path: 'root', type: 'directory', mode: 0o700 };
  const layers = [[...files, ...(await busyboxLinks()), tmp, root, ...accounts]];
  return [{ name: 'localhost/busybox:1', layers, config: { Cmd: ['sh'], Env: [path] } }];
}

async function busyboxLinks(): Promise<ImageFile[]> {
  const { stdout } = await execa('/bin/busybox', ['--list']);
  const applets = stdout.split('\n').filter((name) => name !== '' && name !== 'busybox');
  return applets.map((name) => ({ path: `bin/${name}`, type: 'symlink', target: 'busybox' }));
}

const accounts: readonly ImageFile[] = [
  {
    path: 'etc/passwd',
    type: 'file',
    content: 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n',
  },
  { path: 'etc/group', type: 'file', content: 'root:x:0:\nnogroup:x:65534:\n' },
];

function etcdImage(files: readonly ImageFile[]): Omit<ImageToArchive, 'architecture'> {
  return { name: 'localhost/etcd:3', layers: [[...files, tmp]], config: { Cmd: ['etcd'], Env: [path] } };
}
