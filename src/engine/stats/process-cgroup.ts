/**
 * Parses the cgroup in a file `/proc/<pid>/cgroup`. Returns undefined for the root, and if CPU and memory are counted
 * in different cgroups. kubelet: cm/container_manager_linux.go getContainer
 */
export function parseProcessCgroup(text: string): string | undefined {
  const lines = text.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return controllers === undefined || path === undefined ? [] : [{ controllers: controllers.split(','), path }];
  });
  const pathWith = (controller: string): string | undefined =>
    lines.find(({ controllers }) => controllers.includes(controller))?.path;
  // The unified hierarchy is listed without controllers.
  const path = pathWith('memory') ?? pathWith('');
  return path === undefined || path === '/' || path !== (pathWith('cpuacct') ?? pathWith('')) ? undefined : path;
}
