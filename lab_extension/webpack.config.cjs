// Beside what JupyterLab's builder does. Numbers of modules come from their paths, for some from the whole one: the
// same sources would make another file in another folder. Names come from paths below this one.
module.exports = { optimization: { moduleIds: 'named' } };
