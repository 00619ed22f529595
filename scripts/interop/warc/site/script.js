fetch('/data.json').then(answer => answer.json());
